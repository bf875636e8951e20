static volatile long sink;

__attribute__((noinline)) long NAME(long n)
{
    sink += n;
    return sink;
}

long entry(long n)
{
    return NAME(n);
}
