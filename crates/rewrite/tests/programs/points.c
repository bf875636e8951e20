/* Functions whose every point is known beforehand; with -DLIBRARY without a main program, with -DMAIN only that. */
#include <stdio.h>

#define APART __attribute__((noinline, noclone, noipa))

int leaf(int), tail(int), maybe(int), through(int (*)(int), int), rounds(int);

#ifndef MAIN
APART int leaf(int x) { return x + 1; }
APART int tail(int x) { return leaf(x * 2); }
APART int through(int (*f)(int), int x) { __asm__ volatile(""); return f(x); }
APART int rounds(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) sum += leaf(i);
    return sum;
}

/* A conditional tail call. */
__asm__(".text\n.globl maybe\n.type maybe, @function\n.p2align 4\nmaybe:\n.cfi_startproc\ncmp $5, %edi\njg leaf_here\nxor %eax, %eax\nret\n"
        ".cfi_endproc\n.size maybe, .-maybe\n"
        ".type leaf_here, @function\n.p2align 4\nleaf_here:\n.cfi_startproc\nlea 1(%rdi), %eax\nret\n.cfi_endproc\n.size leaf_here, .-leaf_here\n");
#endif

#ifndef LIBRARY
int main(void)
{
    int by_tail = tail(1), taken = maybe(7), not_taken = maybe(2), by_pointer = through(leaf, 3), looped = rounds(2);
    printf("%d %d %d %d %d\n", by_tail, taken, not_taken, by_pointer, looped);
    return 5;
}
#endif
