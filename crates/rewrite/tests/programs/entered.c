/* Functions that nothing tells of but jumps of others: no unwind entry, and, stripped, no symbol. */
#include <stdio.h>

/* `first` and `second` jump to `entered`, which goes on in the middle of `holder`. */
int first(int), second(int), holder(int);
__asm__(".text\n"
    ".p2align 4, 0xcc\nfirst: add $1, %edi\njmp entered\n"
    ".p2align 4, 0xcc\nsecond: add $2, %edi\njmp entered\n"
    ".p2align 4, 0xcc\nholder: push %rbp\nmov %rsp, %rbp\nadd $9, %edi\npop %rbp\njmp middle\n"
    ".byte 0xcc, 0xcc\nmiddle: lea 77(%rdi), %eax\nret\n"
    ".p2align 4, 0xcc\nentered: lea 3(%rdi), %eax\ntest $4, %al\njne 1f\nret\n1: jmp middle\n"
    ".p2align 4, 0xcc\n");

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 40; i++) sum = (sum * 7 + first(i) + 3 * second(i) + 5 * holder(i)) % 100003;
    printf("%d\n", sum);
    return 0;
}
