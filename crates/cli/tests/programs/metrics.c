#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline)) void counts(long n)
{
    for (long i = 0; i < n; i++) sink += i;
}

/* Each page is touched for the first time. */
__attribute__((noinline)) void touches(long pages)
{
    char *memory = aligned_alloc(4096, pages * 4096);
    for (long i = 0; i < pages; i++) memory[i * 4096] = 1;
    sink += memory[0];
    free(memory);
}

__attribute__((noinline)) long tiny(long n) { return sink += n; }

__attribute__((noinline)) void calls(long n)
{
    for (long i = 0; i < n; i++) tiny(i);
}

static void *thread(void *nothing)
{
    touches(1000);
    return nothing;
}

int main(void)
{
    counts(1000000);
    touches(5000);
    calls(2000);
    pthread_t other;
    pthread_create(&other, 0, thread, 0);
    pthread_join(other, 0);
    pid_t child = fork();
    if (child == 0) {
        touches(2000);
        return 0;
    }
    int status;
    waitpid(child, &status, 0);
    puts("done");
    return status;
}
