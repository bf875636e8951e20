/* A loop with calls, and functions that a filter tells apart. */
#include <stdio.h>

__attribute__((noinline, noipa)) int quick(int x) { return x + 1; }
__attribute__((noinline, noipa)) int slow(int x) { return x * x; }

__attribute__((noinline, noipa)) int rounds(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += quick(i) + slow(i);
    return sum;
}

int main(void) {
    int first = rounds(3), second = rounds(0), third = rounds(2);
    printf("%d %d %d\n", first, second, third);
    return 0;
}
