/* Thread-local variables of a program's own beside those of an adapter, whose snippets call `seen`. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define APART __attribute__((noinline, noclone, noipa))

#ifdef LIBRARY
extern int of_library(int);
#endif
#ifndef WITHOUT
static __thread int starts_at_42 = 42;
static __thread char zeros[3];
_Alignas(64) static __thread long aligned = 7;
#endif

/* What a thread saw last. */
struct seen {
    long calls, total;
    int steps, wrong;
};
static pthread_key_t key;

APART void seen(const char *routine, long calls, long total, long *address)
{
    struct seen *seen = pthread_getspecific(key);
    if (!seen) return;
    seen->wrong += *address != total || total != seen->total + 1;
    seen->total = total;
    if (!strncmp(routine, "step", 4)) {
        seen->wrong += calls != ++seen->steps;
        seen->calls = calls;
    }
}

APART int step(int x)
{
#ifndef WITHOUT
    starts_at_42++;
    zeros[1]++;
    aligned += x;
#endif
    __asm__ volatile("");
    return x + 1;
}

static void *work(void *rounds)
{
    struct seen own = {0, 100, 0, 0};
    pthread_setspecific(key, &own);
    int x = 0;
    for (int i = 0; i < (int)(long)rounds; i++) {
        x = step(x);
#ifdef LIBRARY
        x = of_library(x);
#endif
    }
    pthread_setspecific(key, NULL);
#ifndef WITHOUT
    x += starts_at_42 + zeros[1] + (int)(aligned % 1000) + zeros[0] + zeros[2] + (int)((long)&aligned & 63);
#endif
    printf("%d: %ld %ld %d\n", x, own.calls, own.total, own.wrong);
    return NULL;
}

int main(void)
{
    pthread_key_create(&key, NULL);
    for (long rounds = 1000; rounds < 4000; rounds += 1000) {
        pthread_t threads[2];
        for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, (void *)rounds);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    }
    return 0;
}
