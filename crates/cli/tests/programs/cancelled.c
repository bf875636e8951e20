/* Threads that call a function without an end, until they are cancelled at whatever instruction they are. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) static long small(long x) { __asm__ volatile("" : "+r"(x)); return x * 3 + 1; }

static void *endless(void *argument)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (long i = 0;; i++) small(i);
    return argument;
}

int main(void)
{
    int others = 0;
    for (int i = 0; i < 1000; i++) {
        pthread_t thread;
        void *result;
        if (pthread_create(&thread, NULL, endless, NULL) != 0) return 1;
        usleep(50 + i % 50);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        others += result != PTHREAD_CANCELED;
    }
    printf("%d not cancelled\n", others);
    return 0;
}
