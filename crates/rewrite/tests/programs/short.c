// Functions of one byte each, which a linker may set apart by nothing but zeros, called directly and by pointers.
#include <stdio.h>

#define APART __attribute__((noinline, noipa, aligned(16)))

static int visits;
APART void nothing(void) {}
APART void visit(void) { visits++; }
APART void nothing_again(void) {}
APART int twice(int number) { return 2 * number; }
APART void nothing_more(void) {}
static void (*volatile pointers[])(void) = {nothing, visit, nothing_again, nothing_more};

int main(void)
{
    for (int round = 0; round < 5; round++) {
        nothing();
        pointers[round % 4]();
        nothing_more();
    }
    printf("%d %d\n", visits, twice(21));
    return 0;
}
