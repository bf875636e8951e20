/* Functions by hand that hand over flags, and values below the stack pointer; and some that only look so. */
#include <stdio.h>
#include <stdlib.h>

#define FUNCTION(name, code) \
    ".type " #name ", @function\n.p2align 4\n" #name ":\n.cfi_startproc\n" code ".cfi_endproc\n.size " #name ", .-" #name "\n"

/* `compares` gives flags back. */
int compares(int), asks(int), asks_twice(int);
/* `adds_carry` takes them. */
int adds_carry(int), with_carry(int);
/* `reads_below` takes a value below the stack pointer; `stores_first` makes its own. */
long reads_below(long), with_value_below(long), stores_first(long);
/* `leaves_below` and `returns_below` go where a word below the stack pointer says. */
int leaves_below(int), returns_below(int), three_more(int);
/* `over_a_byte` and `over_two_bytes` come back behind bytes that stand behind the call; `keeps_order` comes back where it was called. */
int over_a_byte(void), calls_over_a_byte(void), over_two_bytes(void), calls_over_two_bytes(void), keeps_order(int);
/* A call that does not come back stands in front of code to which flags come by a branch. */
int fails_or_not(int);
void fail(int);
__asm__(".text\n"
    FUNCTION(compares, "cmp $5, %edi\nnop\nnop\nret\n")
    FUNCTION(asks, "call compares\nsete %al\nmovzbl %al, %eax\nret\n")
    FUNCTION(asks_twice, "call compares\nmov $7, %eax\njg 1f\nxor %eax, %eax\n1: ret\n")
    FUNCTION(adds_carry, "adc $0, %eax\nnop\nnop\nret\n")
    FUNCTION(with_carry, "mov %edi, %eax\nadd $-10, %eax\ncall adds_carry\nret\n")
    FUNCTION(reads_below, "mov -64(%rsp), %rax\nadd %rdi, %rax\nret\n")
    FUNCTION(with_value_below, "mov %rdi, -64(%rsp)\nadd $3, %rdi\njmp reads_below\n")
    FUNCTION(stores_first, "mov %rdi, -8(%rsp)\naddq $2, -8(%rsp)\nmov -8(%rsp), %rax\nret\n")
    FUNCTION(three_more, "lea 3(%rdi), %eax\nnop\nnop\nret\n")
    FUNCTION(leaves_below, "lea three_more(%rip), %rax\nmov %rax, -8(%rsp)\njmp *-8(%rsp)\n")
    FUNCTION(returns_below, "lea 4(%rdi), %eax\nadd $8, %rsp\njmp *-8(%rsp)\n")
    FUNCTION(over_a_byte, "mov (%rsp), %rcx\nmovzbl (%rcx), %eax\naddq $1, (%rsp)\nret\n")
    FUNCTION(calls_over_a_byte, "push %rbx\ncall over_a_byte\n.byte 0x0f\nadd $2, %eax\npop %rbx\nret\n")
    FUNCTION(over_two_bytes, "pop %rcx\nmovzwl (%rcx), %eax\nadd $2, %rcx\npush %rcx\nret\n")
    FUNCTION(calls_over_two_bytes, "push %rbx\ncall over_two_bytes\n.byte 0x0f, 0x0b\nadd $3, %eax\npop %rbx\nret\n")
    FUNCTION(keeps_order, "mov %edi, %eax\nlock addl $0, (%rsp)\norq $0, (%rsp)\nret\n")
    FUNCTION(fails_or_not, "mov %edi, %eax\nsub $8, %rsp\ncmp $12, %edi\njne 1f\ncall fail\n1: setl %al\nmovzbl %al, %eax\nadd $8, %rsp\nret\n"));

__attribute__((noinline)) void fail(int status) { printf("fail %d\n", status); exit(status); }

int main(void)
{
    for (int i = 0; i < 13; i += 4) {
        printf("%d %d %d ", asks(i), asks_twice(i + 1), with_carry(i));
        printf("%ld %ld\n", with_value_below(i), stores_first(i));
    }
    printf("%d %d %d ", leaves_below(4), returns_below(4), keeps_order(4));
    printf("%d %d\n", calls_over_a_byte(), calls_over_two_bytes());
    printf("%d\n", asks(5));
    return fails_or_not(11) + fails_or_not(12);
}
