// A team of two that is done, and what the first thread does alone to the end of the process, or of the other thread.
#include <omp.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static double leaf(double x) {
    for (int i = 0; i < 25; i++) x = x * 1.0000001 + 1e-9;
    return x;
}

__attribute__((noinline)) static double together(int i) { return leaf(i); }

__attribute__((noinline)) static double alone(double x) {
    for (int i = 0; i < 2000000; i++) {
        __asm__ volatile("" : "+x"(x));
        x = x * 1.0000001 + 1e-9;
        for (int k = 0; k < 100; k++) __asm__ volatile("" : "+x"(x));
    }
    return x;
}

int main(int argc, char **argv) {
    double sum = 0;
#pragma omp parallel for num_threads(2) reduction(+ : sum)
    for (int i = 0; i < 1000; i++) sum += together(i);
    sum += alone(sum);
    if (argc > 1 && strcmp(argv[1], "exit") == 0) exit(sum < 0);
    if (argc > 1 && strcmp(argv[1], "pause") == 0) omp_pause_resource_all(omp_pause_hard);
    return sum < 0;
}
