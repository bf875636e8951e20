// Calls a small function in a loop and says how many nanoseconds a call takes.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__attribute__((noinline, noipa)) long small(long x) { return x * 3 + 1; }

int main(int count, char **words) {
    long rounds = count > 1 ? atol(words[1]) : 100000000, x = 0;
    struct timespec from, to;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    for (long i = 0; i < rounds; i++) x = small(x + i);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    double took = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
    printf("%.4f\n", took / (double)rounds);
    return x == 42;
}
