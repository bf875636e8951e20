// Calls a few functions, each a known number of times.
#include <cstdio>

__attribute__((noinline, noipa)) static int twice(int x) { return 2 * x; }

namespace work {
__attribute__((noinline, noipa)) int busy(int x) { return twice(x) + 1; }
}

int main() {
    int sum = twice(3) + twice(5) + work::busy(8) + 9;
    std::printf("sum %d\n", sum);
    return 3;
}
