#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is allocated is given back at once, but for `keeps`, which has N blocks at a time. */
__attribute__((noinline)) void passes(long n)
{
    for (long i = 0; i < n; i++) {
        char *volatile block = malloc(1000);
        block = realloc(block, 5000);
        free(block);
        block = aligned_alloc(64, 640);
        free(block);
        block = strdup("twelve bytes");
        free(block);
    }
}

__attribute__((noinline)) void keeps(long n)
{
    char **blocks = calloc(n, sizeof *blocks);
    for (long i = 0; i < n; i++) blocks[i] = malloc(10000);
    for (long i = 0; i < n; i++) free(blocks[i]);
    free(blocks);
}

__attribute__((noinline)) void moves(const char *path, long n)
{
    char block[512] = {0};
    int file = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
    for (long i = 0; i < n; i++)
        if (write(file, block, sizeof block) != sizeof block) abort();
    for (long i = 0; i < n; i++)
        if (pread(file, block, 100, 512 * i) != 100) abort();
    int twin = dup(file);
    close(file);
    if (write(twin, "end", 3) != 3) abort();
    close(twin);
}

__attribute__((noinline)) void prints(const char *path, long n)
{
    FILE *file = fopen(path, "w+");
    long bytes = 0;
    for (long i = 0; i < n; i++) bytes += fprintf(file, "%ld %.2f %s\n", i, i * 0.5, "and more");
    rewind(file);
    char line[100];
    for (long i = 0; i < n; i++)
        if (!fgets(line, sizeof line, file)) abort();
    fclose(file);
    printf("%ld\n", bytes);
}

static void *thread(void *n)
{
    passes((long)n);
    moves("thread.data", (long)n);
    return NULL;
}

int main(int count, char **words)
{
    long n = count > 1 ? atol(words[1]) : 100;
    passes(n);
    keeps(n);
    moves("first.data", n);
    /* The descriptors are those of the first file. */
    moves("second.data", 2 * n);
    prints("printed.data", n);
    pthread_t other;
    pthread_create(&other, NULL, thread, (void *)n);
    pthread_join(other, NULL);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        passes(n);
        moves("child.data", n);
        return 0;
    }
    int status;
    waitpid(child, &status, 0);
    return status;
}
