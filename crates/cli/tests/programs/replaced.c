/* Works, and again after it has replaced itself, in the way that its first argument says, by what the second one names or by itself. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
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

__attribute__((noinline)) long first(long n) {
    return work(n) + 1;
}

int main(int count, char **words) {
    char own[4096] = {0};
    if (getenv("REPLACED") != NULL) {
        for (int i = 0; i < 50; i++) work(1000);
        printf("done as %s", words[0]);
        for (int i = 1; i < count; i++) printf(" %s", words[i]);
        printf("\n");
        return 0;
    }
    if (count < 2 || readlink("/proc/self/exe", own, sizeof own - 1) < 0) return 2;
    setenv("REPLACED", "1", 1);
    for (int i = 0; i < 10; i++) first(1000);
    const char *how = words[1];
    char *path = count > 2 ? words[2] : own, *name = strrchr(path, '/') + 1;
    char *list[] = {path, "a", "b", "c", "d", "e", "f", NULL};
    if (execl("/nowhere/at/all", "x", NULL) != -1) return 3;
#define WORDS path, "a", "b", "c", "d", "e", "f", NULL
    if (strcmp(how, "execl") == 0) execl(path, WORDS);
    if (strcmp(how, "execlp") == 0) execlp(name, WORDS);
    if (strcmp(how, "execle") == 0) execle(path, WORDS, environ);
    if (strcmp(how, "short execle") == 0) execle(path, path, NULL, environ);
    if (strcmp(how, "execv") == 0) execv(path, list);
    if (strcmp(how, "execve") == 0) execve(path, list, environ);
    if (strcmp(how, "execvp") == 0) execvp(path, list);
    if (strcmp(how, "searched execvp") == 0) execvp(name, list);
    if (strcmp(how, "searched execvpe") == 0) execvpe(name, list, environ);
    if (strcmp(how, "fexecve") == 0) fexecve(open(path, O_RDONLY | O_CLOEXEC), list, environ);
    if (strcmp(how, "execveat") == 0) execveat(open("/", O_PATH | O_CLOEXEC), path + 1, list, environ, 0);
    if (strcmp(how, "child") == 0 && fork() == 0) execl(path, WORDS);
    if (strcmp(how, "quick child") == 0 && vfork() == 0) execl(path, WORDS);
    if (strcmp(how, "spawned child") == 0 && posix_spawn(&(pid_t){0}, path, NULL, NULL, list, environ) != 0) return 4;
    if (strcmp(how, "nothing") == 0) return 0;
    return strstr(how, "child") == NULL || wait(NULL) < 0;
}
