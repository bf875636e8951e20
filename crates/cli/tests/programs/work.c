/* Works as much as it is told: `work STEADY GROWING [STATUS]`, each a number of rounds of some ten microseconds; ends with the
   status, where it is negative by a signal. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) double round_of_work(double x) {
    for (int i = 0; i < 10000; i++)
        x = x * 0.999999 + 1e-6;
    return x;
}

__attribute__((noinline)) double steady(long rounds) {
    double x = 1.0;
    for (long i = 0; i < rounds; i++)
        x = round_of_work(x);
    return x;
}

__attribute__((noinline)) double growing(long rounds) {
    double x = 2.0;
    for (long i = 0; i < rounds * 10000; i++)
        x = x * 0.999999 + 1e-6;
    return x;
}

int main(int argc, char **argv) {
    double x = steady(argc > 1 ? atol(argv[1]) : 100) + growing(argc > 2 ? atol(argv[2]) : 100);
    int status = argc > 3 ? atoi(argv[3]) : 0;
    printf("%g\n", x);
    if (status < 0) abort();
    return status;
}
