/* A library with thread-local variables of its own, or without. */
#ifndef WITHOUT
static __thread int starts_at_5 = 5;
__thread char public_zeros[9];
#endif

int of_library(int x)
{
#ifndef WITHOUT
    starts_at_5++;
    public_zeros[8]++;
    return x + (starts_at_5 - 5 == ++*(int *)public_zeros) - 1;
#else
    return x;
#endif
}
