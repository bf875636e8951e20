/* A loop that begins with a call. */
static volatile int left = 5;

__attribute__((noinline)) int next(void)
{
    return left-- > 0;
}

int main(void)
{
    while (next()) {
    }
    return 0;
}
