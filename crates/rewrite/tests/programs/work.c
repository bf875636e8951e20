// Calls, loops, floating point and errno, for adapters to be put around.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define KEPT __attribute__((noinline))

KEPT double mean(double a, double b, double c, double d) { return (a + b + c + d) / 4; }

KEPT long double wide(long double x) { return x * 3.0L; }

KEPT int fails(void) {
    errno = 1234;
    return -1;
}

// No loop can be made of it: the factor is read behind the call.
KEPT long factorial(long n) {
    volatile long factor = n;
    long below = n < 2 ? 1 : factorial(n - 1);
    return factor * below;
}

KEPT int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

// Values stay in registers over the calls.
KEPT double sums(int n) {
    double total = 0, weight = 1.5;
    for (int i = 0; i < n; i++) {
        total += weight * mean(i, i + 1.0, total, weight);
        weight *= 1.01;
    }
    return total;
}

int main(void) {
    int numbers[] = {5, 3, 9, 1};
    qsort(numbers, 4, sizeof numbers[0], compare);
    int result = fails();
    int seen = errno;
    printf("%.6f %.3Lf %d %d %ld %d%d%d%d\n", sums(10), wide(2.5L), result, seen, factorial(10), numbers[0], numbers[1], numbers[2], numbers[3]);
    return 0;
}
