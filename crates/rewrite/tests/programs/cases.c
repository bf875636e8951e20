// A `switch` behind a loop, in front of which what its table's address is counted from is loaded.
#include <stdio.h>

__attribute__((noinline)) static int choose(int number)
{
    switch (number % 17) {
    case 0: return 3;
    case 1: return choose(number - 1) + 1;
    case 2: number += 9;
    case 3: number *= 2; break;
    case 4: return 1;
    case 5: return number;
    case 6: number--; break;
    case 8: return 4;
    case 9: return 77;
    case 11: number ^= 3; break;
    case 16: return -1;
    }
    return number;
}

int main(void)
{
    int sum = 0;
    for (int number = 0; number < 50; number++) {
        sum = sum * 3 + choose(number);
    }
    printf("%d\n", sum);
    return 0;
}
