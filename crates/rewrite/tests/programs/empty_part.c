// `outer` branches to its cold part, which is empty, where no case fits: what stands there is `last`, with which `first` ends.
#include <stdio.h>

__asm__(R"(
    .section .text.unlikely, "ax"
last:
    .cfi_startproc
    push %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_offset %rbx, -16
    lea (%rdi,%rdi,4), %ebx
    mov %ebx, %eax
    pop %rbx
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size last, .-last
    .text
    .globl outer
    .type outer, @function
outer:
    .cfi_startproc
    push %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_offset %rbx, -16
    sub $16, %rsp
    .cfi_adjust_cfa_offset 16
    mov %edi, %ebx
    cmp $100, %edi
    ja last
    call first
    add %ebx, %eax
    add $16, %rsp
    .cfi_adjust_cfa_offset -16
    pop %rbx
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size outer, .-outer
    .p2align 4
first:
    .cfi_startproc
    lea 3(%rdi), %edi
    jmp last
    .cfi_endproc
    .size first, .-first
    .type first, @function
)");

int outer(int number);

int main(void)
{
    int sum = 0;
    for (int number = 0; number < 20; number++) {
        sum += outer(number);
    }
    printf("%d\n", sum);
    return 0;
}
