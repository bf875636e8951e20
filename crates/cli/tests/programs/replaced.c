/* Does its work after it has replaced itself by itself, in the way that its first argument says. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

__attribute__((noinline)) long work(long n) {
    volatile long sum = 0;
    for (long i = 0; i < n; i++) sum += i;
    return sum;
}

int main(int count, char **words) {
    char path[4096] = {0};
    if (count != 2) return 2;
    if (getenv("REPLACED") == NULL) {
        setenv("REPLACED", "1", 1);
        if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) return 3;
        if (strcmp(words[1], "execv") == 0) execv(words[0], words);
        if (strcmp(words[1], "execve") == 0) execve(path, words, environ);
        if (strcmp(words[1], "execvp") == 0) execvp(path, words);
        if (strcmp(words[1], "child") == 0 && fork() == 0) execv(path, words);
        if (strcmp(words[1], "child") == 0) return wait(NULL) < 0;
        return 4;
    }
    for (int i = 0; i < 50; i++) work(1000);
    printf("done as %s\n", words[0]);
    return 0;
}
