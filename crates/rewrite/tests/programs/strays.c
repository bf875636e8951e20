/* A function by hand that jumps into the middle of another one by a table, whose length nothing tells. */
#include <stdio.h>

#define FUNCTION(name, code) \
    ".type " #name ", @function\n.p2align 4\n" #name ":\n.cfi_startproc\n" code ".cfi_endproc\n.size " #name ", .-" #name "\n"

#ifdef ADDRESSES
#define CHOOSES "jmp *ways(,%rsi,8)\n"
#define WAYS ".p2align 3\nways: .quad middle, into_middle, beside\n"
#else
#define CHOOSES "lea ways(%rip), %rdx\nmovslq (%rdx,%rsi,4), %rax\nadd %rdx, %rax\njmp *%rax\n"
#define WAYS ".p2align 2\nways: .long middle - ways, into_middle - ways, beside - ways\n"
#endif

int middle(int, long), beside(int, long), chooses(int, long);
__asm__(".text\n"
    FUNCTION(middle, "add $1, %edi\nnop\ninto_middle: add $2, %edi\nlea (%rdi,%rdi), %eax\nret\n")
    FUNCTION(beside, "lea 5(%rdi), %eax\nnop\nnop\nret\n")
    FUNCTION(chooses, CHOOSES)
    ".section .rodata\n" WAYS ".text\n");

int main(void)
{
    for (long way = 0; way < 3; way++)
        printf("%d ", chooses(10, way));
    printf("%d %d\n", middle(3, 0), beside(4, 0));
    return 0;
}
