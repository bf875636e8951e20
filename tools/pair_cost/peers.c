/* One shape of calls at a time, for tools of every kind: prints nanoseconds a call of what was called. With -DCLOCK, each function
 * reads the time-stamp counter at its entry and at its exit: the floor of any measurement of both. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OUTSIDE __attribute__((noinline, no_instrument_function, no_profile_instrument_function))
#ifdef __clang__
#define PLAIN __attribute__((noinline, xray_never_instrument, no_instrument_function))
#define MEASURED __attribute__((noinline, xray_always_instrument))
#else
#define PLAIN OUTSIDE
#define MEASURED __attribute__((noinline))
#endif

#ifdef CLOCK
#define READ __asm__ volatile("rdtsc" ::: "rax", "rdx")
#else
#define READ
#endif

static volatile uint64_t sink;

PLAIN static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

MEASURED uint64_t one(uint64_t x)
{
    READ;
    __asm__ volatile("inc %0" : "+r"(x));
    READ;
    return x;
}

#define LEVEL(name, below)                   \
    MEASURED uint64_t name(uint64_t x)       \
    {                                        \
        READ;                                \
        x = below(x);                        \
        __asm__ volatile("inc %0" : "+r"(x)); \
        READ;                                \
        return x;                            \
    }
LEVEL(level9, one)
LEVEL(level8, level9)
LEVEL(level7, level8)
LEVEL(level6, level7)
LEVEL(level5, level6)
LEVEL(level4, level5)
LEVEL(level3, level4)
LEVEL(level2, level3)
LEVEL(level1, level2)

#define EACH(M, h) M(h##0) M(h##1) M(h##2) M(h##3) M(h##4) M(h##5) M(h##6) M(h##7) M(h##8) M(h##9)
#define TENS(M, h) EACH(M, h##0) EACH(M, h##1) EACH(M, h##2) EACH(M, h##3) EACH(M, h##4) EACH(M, h##5) EACH(M, h##6) EACH(M, h##7) EACH(M, h##8) EACH(M, h##9)
#define ALL(M) TENS(M, s0) TENS(M, s1) TENS(M, s2) TENS(M, s3) TENS(M, s4) TENS(M, s5) TENS(M, s6) TENS(M, s7) TENS(M, s8) TENS(M, s9)
#define DEFINE(name) MEASURED uint64_t name(uint64_t x) { READ; __asm__ volatile("inc %0" : "+r"(x)); READ; return x; }
#define CALL(name) x = name(x);
ALL(DEFINE)

PLAIN static void siblings(long n)
{
    uint64_t x = sink;
    for (long i = 0; i < n; i += 1000) { ALL(CALL) }
    sink = x;
}

PLAIN static void deep(long n)
{
    uint64_t x = sink;
    for (long i = 0; i < n; i += 10) x = level1(x);
    sink = x;
}

PLAIN static void single(long n)
{
    uint64_t x = sink;
    for (long i = 0; i < n; i++) x = one(x);
    sink = x;
}

PLAIN int main(int count, char **words)
{
    void (*run)(long) = !strcmp(words[1], "one") ? single : !strcmp(words[1], "depth") ? deep : siblings;
    long calls = atol(words[2]);
    double best = 1e300;
    run(20000);
    for (int round = 0; round < 20; round++) {
        double begin = now();
        run(calls);
        double took = (now() - begin) / calls;
        best = took < best ? took : best;
    }
    printf("%.3f\n", best);
    return 0;
}
