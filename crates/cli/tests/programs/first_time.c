/* Runs for ten minutes the first time, and makes three steps when it finds that it was there before. */
#include <stdio.h>
#include <time.h>

__attribute__((noinline)) static double step(int number)
{
    volatile double sum = 0;
    for (int i = 0; i < 1000000; i++) sum += i * number;
    return sum;
}

int main(void)
{
    FILE *mark = fopen("was-here", "r");
    int steps = 0;
    if (mark) {
        while (steps < 3) step(++steps);
    } else {
        fclose(fopen("was-here", "w"));
        time_t end = time(NULL) + 600;
        while (time(NULL) < end) step(++steps);
    }
    printf("%d steps\n", steps);
    return 0;
}
