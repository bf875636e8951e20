/* Three loops, each of which leaves the stack pointer elsewhere at each iteration, around a call. */
#include <alloca.h>
#include <stdio.h>

__attribute__((noinline)) static int used(volatile char *bytes, int n) {
    bytes[0] = (char)n;
    return bytes[0];
}

__attribute__((noinline)) static int uneven(int n) {
    int sum = 0;
    for (int a = 0; a < n; a++) {
        sum += used(alloca(16 + a), a);
        for (int b = 0; b < n; b++) {
            sum += used(alloca(16 + b), b);
            for (int c = 0; c < n; c++) sum += used(alloca(16 + c), c);
        }
    }
    return sum;
}

int main(int count, char **words) {
    (void)words;
    printf("%d\n", uneven(count + 3));
    return 0;
}
