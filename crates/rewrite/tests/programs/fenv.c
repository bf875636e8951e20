// Floating-point flags and modes, seen behind functions with results of every kind.
#include <complex.h>
#include <fenv.h>
#include <stdio.h>

#define KEPT __attribute__((noinline, noipa))

KEPT int whole(int x) { return x + 1; }
KEPT double fraction(double x) { return x / 2; }
KEPT long double wide(long double x) { return x * 4; }
KEPT complex long double pair(long double x) { return x + x * I; }
KEPT int compares(long double x, long double y) { return whole(x < y) + (x > y); }

static int flags(void) { return fetestexcept(FE_ALL_EXCEPT); }

int main(void) {
    feclearexcept(FE_ALL_EXCEPT);
    printf("%d %d %.2f %d\n", whole(1), flags(), fraction(3), flags());
    printf("%.1Lf %d %.1Lf %.1Lf %d\n", wide(2), flags(), creall(pair(3)), cimagl(pair(4)), flags());
    printf("%d %d %d\n", compares(1, 2), compares(2, 1), flags());
    feraiseexcept(FE_INEXACT);
    fesetround(FE_UPWARD);
    printf("%.2f %d %d\n", fraction(5), flags() == FE_INEXACT, fegetround() == FE_UPWARD);
    volatile long double third = 1;
    third /= 3;
    printf("%d %.1Lf %d\n", whole(5), wide(1), flags() == FE_INEXACT);
    return 0;
}
