/* Every loop has a mark on its line: no instruction has that of `do`, and heads of several lines are where the compiler has them. */
#include <stdio.h>
#include <stdlib.h>

#define KEEP __attribute__((noinline))
#define EACH(i, n) for (int i = 0; i < (n); i++)

static inline __attribute__((always_inline)) double sum(const double *v, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) // loop
        s += v[i] * s;
    return s;
}

KEEP int nest(int n, double *v)
{
    int t = 0;
    for (int i = 0; i < n; i++) { // loop
        v[i] = i;
        for (int j = 0; j < i; j++) // loop
            t += rand() & j;
    }
    return t;
}

KEEP int whiles(int n)
{
    int t = 0;
    while (n > 1) { // loop
        t += n & rand();
        n /= 2;
    }
    do {
        t ^= rand(); // loop
    } while (t & 3);
    return t;
}

KEEP double headers(int n, double *v)
{
    double t = 0;
    for (int i = 0; // loop of clang
         i < n; i++) // loop of gcc
        t += v[i] * t;
    EACH(k, n) // loop
        t += v[k] + t * t;
    return t;
}

KEEP double host(int n, double *v)
{
    double s = sum(v, n);
    for (int i = 0; i < n; i++) // loop
        s += sum(v + i, n - i);
    return s;
}

KEEP void one_line(int n) { for (int i = 0; i < n; i++) puts("one"); } // loop

int main(int c, char **v)
{
    double d[100];
    int t = nest(90 + c, d) + whiles(c + 20);
    one_line(c);
    printf("%d %g\n", t, headers(90, d) + host(80, d));
    return v == 0;
}
