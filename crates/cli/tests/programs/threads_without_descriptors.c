/* Has no descriptor left for anybody, and starts threads one after another. */
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>

__attribute__((noinline)) static long small(long x) { __asm__ volatile("" : "+r"(x)); return x * 3 + 1; }

static void *work(void *argument)
{
    for (long i = 0; i < 1000; i++) small(i);
    return argument;
}

int main(void)
{
    struct rlimit none = {3, 3};
    if (setrlimit(RLIMIT_NOFILE, &none) != 0) return 1;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, NULL) != 0) return 1;
    }
    puts("done");
    return 0;
}
