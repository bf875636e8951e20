/* A nested function of GNU C leaves the one around it by `goto`. */
#include <stdio.h>

__attribute__((noinline)) static int around(int n)
{
    __label__ out;
    int sum = 0;
    auto int inner(int x);
    int inner(int x)
    {
        if (x > 20)
            goto out;
        sum += x;
        return sum;
    }
    int (*volatile call)(int) = inner;
    for (int i = 0; i < n; i++)
        call(i);
out:
    return sum + n;
}

int main(void)
{
    printf("%d\n", around(40));
    return 0;
}
