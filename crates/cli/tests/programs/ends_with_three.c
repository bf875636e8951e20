/* Works, and ends with status 3, as programs do that say so that they have not converged. */
#include <stdio.h>

__attribute__((noinline)) static double step(int number)
{
    volatile double sum = 0;
    for (int i = 0; i < 1000000; i++) sum += i * number;
    return sum;
}

int main(void)
{
    double sum = 0;
    for (int i = 0; i < 20; i++) sum += step(i);
    printf("%.0f\n", sum);
    return 3;
}
