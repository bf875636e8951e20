/* Leaves itself 16 MB of data, of which each thread's stack takes 8, and starts threads one after another; or, with an argument, none at all. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { STACK = 128 << 10, LARGE = 1040 };
static char stack[STACK] __attribute__((aligned(64)));

__attribute__((noinline)) long small(long x) { __asm__ volatile("" : "+r"(x)); return x * 3 + 1; }

static void *work(void *argument)
{
    for (long i = 0; i < 1000; i++) small(i);
    return argument;
}

static int limit(rlim_t bytes)
{
    struct rlimit data = {bytes, bytes};
    return setrlimit(RLIMIT_DATA, &data);
}

/* What the thread itself needs is found in a piece that is given back; nothing larger is left. */
static int without_any(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *piece = malloc(LARGE), *guard = malloc(LARGE);
    if (piece == NULL || guard == NULL || limit(0) != 0) return 1;
    while (malloc(LARGE + 64) != NULL) continue;
    free(piece);
    if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstack(&attributes, stack, STACK) != 0) return 1;
    if (pthread_create(&thread, &attributes, work, NULL) != 0) return 2;
    return pthread_join(thread, NULL);
}

int main(int count, char **words)
{
    (void)words;
    small(1);
    setvbuf(stdout, NULL, _IONBF, 0);
    if (count > 1) return without_any();
    if (limit(16 << 20) != 0) return 1;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, NULL) != 0) return 2;
    }
    return 0;
}
