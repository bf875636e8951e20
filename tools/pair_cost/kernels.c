/* Serial kernels, each a function that is called many times: what a pair of probes around each call adds differs from one to
 * the next, because the processor hides different parts of it. Prints what each took and how fast the core ran. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Each flip is met once: predictors of branches learn tens of thousands of them that come again. */
enum { CALLS = 300000, ROOM = 1 << 10, FLIPS = 4 * CALLS + 12345 };

static uint64_t next_of[ROOM];
static uint8_t flips[FLIPS];
static volatile uint64_t sink;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* A million dependent additions: a core cycle each. Of a register, because recent processors add constants while they rename. */
static double cycles_per_second(void)
{
    double best = 0;
    for (int round = 0; round < 5; round++) {
        double begin = now();
        uint64_t x = sink, y = sink + 1;
        for (int i = 0; i < 100000; i++)
            __asm__ volatile("add %1, %0\nadd %1, %0\nadd %1, %0\nadd %1, %0\nadd %1, %0\n"
                             "add %1, %0\nadd %1, %0\nadd %1, %0\nadd %1, %0\nadd %1, %0" : "+r"(x) : "r"(y));
        double rate = 1e6 / (now() - begin);
        best = rate > best ? rate : best;
    }
    return best;
}

__attribute__((noinline)) uint64_t empty(uint64_t x)
{
    __asm__ volatile("");
    return x;
}

__attribute__((noinline)) uint64_t arithmetic(uint64_t x)
{
    x ^= x << 13;
    x ^= x >> 7;
    return x ^ x << 17;
}

__attribute__((noinline)) uint64_t loads(uint64_t x)
{
    for (int i = 0; i < 8; i++) x = next_of[x % ROOM];
    return x;
}

__attribute__((noinline)) uint64_t throughput(uint64_t x)
{
    uint64_t a = x, b = x + 1, c = x + 2, d = x + 3;
    for (int i = 0; i < 8; i++)
        __asm__ volatile("add $1, %0\nadd $1, %1\nadd $1, %2\nadd $1, %3\nxor $5, %0\nxor $5, %1\nxor $5, %2\nxor $5, %3"
                         : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    return a + b + c + d;
}

__attribute__((noinline)) uint64_t branches(uint64_t x)
{
    uint64_t sum = 0;
    for (int i = 0; i < 4; i++) {
        if (flips[x + i]) __asm__ volatile("add $3, %0" : "+r"(sum));
        else __asm__ volatile("xor $5, %0" : "+r"(sum));
    }
    return x + 4 + (sum & 0);
}

/* Divisions that need one another: a body that takes longer than a pair of probes. */
__attribute__((noinline)) uint64_t divisions(uint64_t x)
{
    double y = x;
    for (int i = 0; i < 6; i++) y = 1.0 / (1.0 + y);
    return y;
}

#define RUN(kernel)                                                  \
    __attribute__((noinline)) void run_##kernel(void)                \
    {                                                                \
        uint64_t x = 12345;                                          \
        for (int i = 0; i < CALLS; i++) x = kernel(x);               \
        sink += x;                                                   \
    }
RUN(empty)
RUN(arithmetic)
RUN(loads)
RUN(throughput)
RUN(branches)
RUN(divisions)

int main(void)
{
    srandom(1);
    for (int i = 0; i < ROOM; i++) next_of[i] = random();
    for (int i = 0; i < FLIPS; i++) flips[i] = random() >> 7 & 1;
    struct {
        const char *name;
        void (*run)(void);
    } kernels[] = {{"empty", run_empty}, {"arithmetic", run_arithmetic}, {"loads", run_loads}, {"throughput", run_throughput}, {"branches", run_branches}, {"divisions", run_divisions}};
    for (int i = 0; i < 6; i++) {
        double rate = cycles_per_second(), begin = now();
        kernels[i].run();
        printf("%s %.9f %.0f %d\n", kernels[i].name, now() - begin, rate, CALLS);
    }
    return 0;
}
