/* Works for a moment and ends well. */
static volatile double sum;

__attribute__((noinline)) static void add(double x)
{
    sum += 1.0 / x;
}

int main(void)
{
    for (int i = 1; i <= 2000000; i++)
        add(i);
    return 0;
}
