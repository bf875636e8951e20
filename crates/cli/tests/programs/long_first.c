// A function that is long for its first calls, and short for all others.
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static long work(long steps) {
  long sum = 0;
  for (long step = 0; step < steps; step++) {
    sum += step ^ (sum << 1);
    __asm__ volatile("" : "+r"(sum));
  }
  return sum;
}

int main(int argc, char **argv) {
  long calls = argc > 1 ? atol(argv[1]) : 0, sum = 0;
  for (long call = 0; call < calls; call++)
    sum += work(call < 100 ? 200000 : 3);
  printf("%ld\n", sum);
  return 0;
}
