/* Functions that only code calls to which nothing leads: no unwind entry, and, stripped, no symbol. What stands in front of each seems to go
   on in it: by a call that does not come back, by a jump over it, and by a jump through a register. One of them goes on in what stands in front
   of it. */
#include <stdio.h>
#include <stdlib.h>

int calls(int), shares(int), jumps(int), turns(int, int (*)(int)), times(int);
extern const long distances[];
__asm__(".text\n"
    ".p2align 4, 0xcc\ncalls: test %edi, %edi\njs 1f\nlea 1(%rdi), %eax\nret\n1: push %rax\ncall stop\n"
    ".p2align 4\nbehind_call: lea 5(%rdi), %eax\nret\n"
    ".p2align 4, 0xcc\nshares: lea 1(%rdi), %eax\n2: test %eax, %eax\njs 1f\nret\n1: push %rax\ncall stop\n"
    ".p2align 4\nbehind_shares: lea 11(%rdi), %eax\njmp 2b\n"
    ".p2align 4, 0xcc\njumps: add $2, %edi\njmp last\n"
    ".p2align 4, 0xcc\nbehind_jump: lea 7(%rdi), %eax\nret\n"
    ".p2align 4, 0xcc\nlast: lea 3(%rdi), %eax\nret\n"
    ".p2align 4, 0xcc\nhidden: push %rbx\nmov %edi, %ebx\ncall behind_call\nmov %eax, %edi\ncall behind_jump\n"
    "mov %eax, %edi\ncall behind_shares\nmov %eax, %edi\ncall behind_turn\nadd %ebx, %eax\npop %rbx\nret\n"
    ".p2align 4, 0xcc\nturns: add $4, %edi\nmov %rsi, %rax\njmp *%rax\n"
    ".p2align 4, 0xcc\nbehind_turn: lea 9(%rdi), %eax\nret\n"
    ".p2align 4, 0xcc\n.data\n.p2align 3\ndistances: .quad hidden - calls\n.text\n");

__attribute__((noinline, noreturn, used)) void stop(int status)
{
    puts("stops");
    exit(status & 3);
}

__attribute__((noinline)) int times(int x)
{
    return x * 3;
}

int main(void)
{
    int (*volatile base)(int) = calls;
    int (*found)(int) = (int (*)(int))((char *)base + *(volatile const long *)distances);
    int sum = 0;
    for (int i = 0; i < 40; i++) sum = (sum * 7 + calls(i) + shares(i) + 3 * jumps(i) + 5 * turns(i, times) + found(i)) % 100003;
    printf("%d\n", sum);
    return 0;
}
