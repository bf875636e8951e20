/* Calls itself to a depth of 100,000, again and again: all entries come before all exits. */
#include <stdio.h>

__attribute__((noinline)) long down(long n)
{
    if (n == 0) return 1;
    long below = down(n - 1);
    __asm__ volatile("" : "+r"(below));
    return below + 1;
}

int main(void)
{
    long sum = 0;
    for (int i = 0; i < 20; i++) sum += down(100000);
    printf("%ld\n", sum);
    return 0;
}
