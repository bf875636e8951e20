/* The main thread is deep inside when another one, which has worked for a while, ends the process. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline)) void sit(void)
{
    for (;;) pause();
}

__attribute__((noinline)) void busy(void)
{
    for (long i = 0; i < 50000000; i++) sink += i;
}

static void *work(void *unused)
{
    busy();
    exit(3);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    sit();
    return 0;
}
