/* Functions by hand that branch into one another; what each must answer is known beforehand. */
#include <stdio.h>
#include <string.h>

#define FUNCTION(name, code) \
    ".type " #name ", @function\n.p2align 4\n" #name ":\n.cfi_startproc\n" code ".cfi_endproc\n.size " #name ", .-" #name "\n"

/* `near` is entered three bytes behind its start, where there is no room for a second jump, by two functions. */
long near(long), past_start(long), to_tail(long, long);
/* `comparing` is entered where the flags that its neighbour set are read. */
long comparing(long), with_flags(long);
/* `below` is entered with a value below the stack pointer. */
long below(long), with_red_zone(long);
/* `called` is entered in the middle by a branch and by a call. */
long called(long), branching(long), calling(long);
/* Both branch to an instruction without its `lock` prefix, as the C library does in programs of one thread. */
long skipping(long *, long, int), again(long *, long);
__asm__(".text\n"
    FUNCTION(near, "mov %rdi, %rax\n.Lnear: add $10, %rax\ncmp $100, %rax\njg .Lnear_end\nadd $1, %rax\nret\n.Lnear_end: sub $50, %rax\nnop\nnop\nret\n")
    FUNCTION(past_start, "lea (%rdi,%rdi), %rax\njmp .Lnear\n")
    FUNCTION(to_tail, "mov %rdi, %rax\nadd %rsi, %rax\ncmp $7, %rdi\nje .Lnear_end\njl .Lnear\nret\n")
    FUNCTION(comparing, "xor %eax, %eax\ncmp $5, %rdi\n.Lcomparing: je 1f\nmov $2, %eax\nret\n1: mov $1, %eax\nret\n")
    FUNCTION(with_flags, "xor %eax, %eax\ncmp $9, %rdi\njmp .Lcomparing\n")
    FUNCTION(below, "mov %rdi, -8(%rsp)\nlea 1(%rdi), %rax\n.Lbelow: add -8(%rsp), %rax\nret\n")
    FUNCTION(with_red_zone, "mov %rdi, -8(%rsp)\nmov $100, %eax\njmp .Lbelow\n")
    FUNCTION(called, "mov %rdi, %rax\nimul $3, %rax, %rax\n.Lcalled: add $4, %rax\nlea (%rax,%rax), %rax\nret\n")
    FUNCTION(branching, "mov %rdi, %rax\njmp .Lcalled\n")
    FUNCTION(calling, "mov %rdi, %rax\ncall .Lcalled\nadd $1, %rax\nret\n")
    FUNCTION(skipping, "mov %rsi, %rax\ntest %edx, %edx\nje 1f\nlock\n1: xadd %rax, (%rdi)\nret\n")
    FUNCTION(again, "mov %rsi, %rcx\nlock\n1: addq $3, (%rdi)\ndec %rcx\njnz 1b\nmov (%rdi), %rax\nret\n"));

int main(void)
{
    long sum = 0;
    for (long i = 0; i < 60; i++) sum = sum * 31 % 1000003 + near(i * 3) + 2 * past_start(i) + 3 * to_tail(i % 9, i * 7);
    printf("%ld %ld %ld %ld\n", sum, near(95), past_start(3), to_tail(7, 1));
    printf("%ld %ld %ld %ld\n", comparing(5), comparing(6), with_flags(9), with_flags(5));
    printf("%ld %ld\n", below(20), with_red_zone(7));
    printf("%ld %ld %ld\n", called(2), branching(2), calling(2));

    long word = 5;
    printf("%ld %ld %ld %ld\n", skipping(&word, 2, 0), skipping(&word, 20, 1), again(&word, 7), again(&word, 1));

    static char from[1 << 21], to[1 << 21];
    for (size_t i = 0; i < sizeof from; i++) from[i] = (char)(i * 7 + (i >> 8));
    unsigned long check = 0;
    for (size_t size = 0; size < sizeof to - 4096; size = size * 5 / 4 + 1) {
        for (size_t shift = 0; shift < 64; shift += 21) {
            memset(to + shift, (int)size, size);
            memcpy(to + 1, from + shift, size);
            memmove(to + shift, to, size);
            for (size_t i = 0; i < size; i += 1 + size / 37) check = check * 33 + (unsigned char)to[i];
        }
    }
    printf("%lu\n", check % 1000003);
    return 0;
}
