// Functions of one byte right in front of others, with nothing in between, called directly and by pointers.
#include <stdio.h>

#define ALONE __attribute__((noinline, noipa))

static int visits;
static int numbers[64];

ALONE int mixed(int first, int second)
{
    int all = first ^ second;
    for (int at = 0; at < 64; at++) numbers[at] = (all = 3 * all + at) ^ (first >> (at & 7));
    for (int at = 0; at < 63; at++) all += numbers[at] * numbers[at + 1] - (second & numbers[at]);
    return all;
}
ALONE void lone(void) {}
ALONE void visit(void) { visits++; }
ALONE void lone_too(void) {}
ALONE void lone_as_well(void) {}
ALONE int turned(int number)
{
    int all = number;
    for (int at = 63; at >= 0; at--) all = (all << 1) + numbers[at] / (at + 1) - (all & number) * 7;
    for (int at = 0; at < 64; at += 2) all ^= numbers[at] % (at + 3) + (all >> 3);
    return all;
}
ALONE void lone_behind(void) {}
ALONE int chosen(int number)
{
    switch (number) {
    case 0: return turned(7);
    case 1: return mixed(7, 8) + numbers[11];
    case 2: return turned(numbers[3]) - 5;
    case 3: return mixed(number, numbers[17]) ^ 1234567;
    case 4: return numbers[number] * 3;
    default: return visits;
    }
}
ALONE void lone_at_last(void) {}
static void (*volatile pointers[])(void) = {lone, lone_too, visit, lone_as_well, lone_behind, lone_at_last};

int main(void)
{
    int all = 0;
    for (int round = 0; round < 60; round++) {
        lone();
        pointers[round % 6]();
        all = 5 * all + chosen(round % 6);
        lone_at_last();
    }
    printf("%d %d\n", visits, all);
    return 0;
}
