// Values that stay in registers over calls of functions that leave these alone: as the compiler knows it of its own functions
// (GCC's -fipa-ra), and as assembly does.
#include <stdio.h>

#define KEEP __attribute__((noinline, noclone))

static unsigned mixed;

KEEP static void nothing(void) { __asm__ volatile(""); }
KEEP static void stir(unsigned x) { mixed = mixed * 31 + x; }
KEEP static unsigned twice(unsigned x) { return x * 2 + 1; }
KEEP static unsigned through(unsigned x) { return twice(x + 1); }
KEEP static unsigned pick(unsigned x, unsigned y) { return x % 3 ? x : y; }
KEEP static unsigned down(unsigned x) { return x < 2 ? 1 : down(x - 1) + twice(x); }
KEEP static unsigned odd(unsigned x);
KEEP static unsigned even(unsigned x) { return x == 0 ? 1 : odd(x - 1); }
KEEP static unsigned odd(unsigned x) { return x == 0 ? 0 : even(x - 1); }
KEEP static unsigned pointed(unsigned x) { return x ^ 0x55; }

KEEP static unsigned all(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f) {
    stir(a);
    nothing();
    stir(b + pick(c, d));
    nothing();
    return through(e) + f + a * b + c * d;
}

KEEP static unsigned loop(unsigned n, unsigned a, unsigned b) {
    unsigned sum = 0;
    for (unsigned i = 0; i < n; i++) {
        nothing();
        sum += pick(a + i, b) ^ through(i);
        stir(sum);
    }
    return sum + a + b;
}

// Each holds its argument, and three values beside it, in registers that only what it calls leaves alone.
#define HOLDS(name, callee)                                                                                                     \
    unsigned name(unsigned);                                                                                                    \
    __asm__(".text\n.type " #name ",@function\n" #name ":\n.cfi_startproc\n"                                                    \
            "lea 3(%rdi), %esi\n lea 5(%rdi), %r8d\n lea 7(%rdi), %r11d\n mov %edi, %ecx\n"                                     \
            "call " #callee "\n add %esi, %eax\n add %r8d, %eax\n add %r11d, %eax\n xor %ecx, %eax\n add %edi, %eax\n ret\n"  \
            ".cfi_endproc\n.size " #name ",.-" #name "\n")

__asm__(".text\n.type leaf,@function\nleaf:\n.cfi_startproc\n mov $1, %eax\n ret\n.cfi_endproc\n.size leaf,.-leaf\n"
        ".type chained,@function\nchained:\n.cfi_startproc\n jmp last\n.cfi_endproc\n.size chained,.-chained\n"
        ".type last,@function\nlast:\n.cfi_startproc\n mov $2, %eax\n ret\n.cfi_endproc\n.size last,.-last\n"
        ".type either,@function\neither:\n.cfi_startproc\n mov $3, %eax\n test $1, %edi\n jne last\n ret\n.cfi_endproc\n.size either,.-either\n"
        ".type narrow,@function\nnarrow:\n.cfi_startproc\n xor %eax, %eax\n mov %sil, %al\n mov $4, %sil\n mov %al, %sil\n ret\n.cfi_endproc\n.size narrow,.-narrow\n"
        ".type again,@function\nagain:\n.cfi_startproc\n push %rdi\n.cfi_adjust_cfa_offset 8\n xor %eax, %eax\n and $3, %edi\n je 1f\n dec %edi\n call again\n"
        "1: inc %eax\n pop %rdi\n.cfi_adjust_cfa_offset -8\n ret\n.cfi_endproc\n.size again,.-again\n");
HOLDS(over_leaf, leaf);
HOLDS(over_chain, chained);
HOLDS(over_either, either);
HOLDS(over_narrow, narrow);
HOLDS(over_recursion, again);
HOLDS(over_all, over_leaf_and_chain);
__asm__(".text\n.type over_leaf_and_chain,@function\nover_leaf_and_chain:\n.cfi_startproc\n push %rsi\n.cfi_adjust_cfa_offset 8\n mov $9, %esi\n"
        " call leaf\n add %esi, %eax\n pop %rsi\n.cfi_adjust_cfa_offset -8\n jmp chained\n.cfi_endproc\n.size over_leaf_and_chain,.-over_leaf_and_chain\n");

int main(int count, char **words) {
    unsigned (*volatile by_pointer)(unsigned) = count > 5 ? twice : pointed;
    unsigned sum = words == NULL;
    for (unsigned i = 0; i < 100; i++) {
        sum = sum * 7 + all(i, sum, i * 3, 4, sum ^ i, 6) + loop(i % 7, sum, i) + down(i % 9) + even(i) + by_pointer(i);
        sum += over_leaf(i) + over_chain(i * 2) + over_either(i) + over_narrow(i) + over_recursion(i) + over_all(i);
    }
    printf("%u %u\n", sum, mixed);
    return 0;
}
