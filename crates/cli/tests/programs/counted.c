#include <setjmp.h>
#include <stdio.h>

#define APART __attribute__((noinline, noclone, noipa))

static jmp_buf place;

APART int leaf(int x) { return x + 1; }

/* Two loops, one in the other: 4 rounds, 4 times 5 rounds, a call in each. */
APART int nest(void)
{
    int sum = 0;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 5; j++) sum += leaf(i * j);
    return sum;
}

/* Left in the third round by `longjmp`, out of a call within a loop. */
APART void jump(int n) { if (n == 2) longjmp(place, 1); __asm__ volatile(""); }
APART int away(void)
{
    for (int i = 0; i < 9; i++) jump(i);
    return 0;
}

APART int guarded(void) { return setjmp(place) ? 7 : away(); }

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 3; i++) sum += nest();
    printf("%d %d\n", sum, guarded());
    return 0;
}
