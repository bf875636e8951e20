/* A region that a function ends last: optimised, it jumps there behind its own end. */
#include <stdio.h>
#include <tare.h>

static volatile double sum;

__attribute__((noinline, noclone)) void compute(int steps) {
    TARE_BEGIN("kernel");
    for (int step = 0; step < steps; step++) sum += step;
    TARE_END("kernel");
}

int main(void) {
    for (int round = 0; round < 20; round++) compute(1000);
    puts("done");
    return 0;
}
