# Loads every register from `in`, runs a probe, stores every register: at an entry to `entered`, at the exit to
# `left`. The direction flag is set meanwhile, and what is found of it added to `direction`.
#
#   struct registers { uint64_t rax, rbx, rcx, rdx, rsi, rbp, r8 … r15, rdi, unused; ymm[16]; }
#   void check_probe(struct registers *in, struct registers *entered, struct registers *left);
#   void check_leaf(…): the same; sets `was_off` and leaves the exit out where the body runs without probes
        .bss
        .globl  was_off, has_avx, direction
        .balign 8
direction:
        .zero   8
was_off: .zero  1
has_avx: .zero  1

        .text
        .macro  EACH_VECTOR avx, sse
        cmpb    $0, has_avx(%rip)
        je      1f
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        \avx    \n
        .endr
        jmp     2f
1:
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        \sse    \n
        .endr
2:
        .endm
        .macro  LOAD_AVX n
        vmovups 128+32*\n(%rdi), %ymm\n
        .endm
        .macro  LOAD_SSE n
        movups  128+32*\n(%rdi), %xmm\n
        .endm
        .macro  STORE_AVX n
        vmovups %ymm\n, 128+32*\n(%rdi)
        .endm
        .macro  STORE_SSE n
        movups  %xmm\n, 128+32*\n(%rdi)
        .endm

        .macro  LOAD_ALL
        EACH_VECTOR LOAD_AVX, LOAD_SSE
        mov     0(%rdi), %rax
        mov     8(%rdi), %rbx
        mov     16(%rdi), %rcx
        mov     24(%rdi), %rdx
        mov     32(%rdi), %rsi
        mov     40(%rdi), %rbp
        mov     48(%rdi), %r8
        mov     56(%rdi), %r9
        mov     64(%rdi), %r10
        mov     72(%rdi), %r11
        mov     80(%rdi), %r12
        mov     88(%rdi), %r13
        mov     96(%rdi), %r14
        mov     104(%rdi), %r15
        mov     112(%rdi), %rdi
        std
        .endm

# To the structure whose address stands at `slot` on the stack.
        .macro  STORE_ALL slot
        push    %rdi
        mov     \slot+8(%rsp), %rdi
        mov     %rax, 0(%rdi)
        mov     %rbx, 8(%rdi)
        mov     %rcx, 16(%rdi)
        mov     %rdx, 24(%rdi)
        mov     %rsi, 32(%rdi)
        mov     %rbp, 40(%rdi)
        mov     %r8, 48(%rdi)
        mov     %r9, 56(%rdi)
        mov     %r10, 64(%rdi)
        mov     %r11, 72(%rdi)
        mov     %r12, 80(%rdi)
        mov     %r13, 88(%rdi)
        mov     %r14, 96(%rdi)
        mov     %r15, 104(%rdi)
        pop     %rax
        mov     %rax, 112(%rdi)
        pushfq
        pop     %rax
        and     $0x400, %rax
        add     %rax, direction(%rip)
        cld
        EACH_VECTOR STORE_AVX, STORE_SSE
        .endm

        .macro  CHECK name, stub, id, is_leaf
        .globl  \name
\name:
        push    %rbx
        push    %rbp
        push    %r12
        push    %r13
        push    %r14
        push    %r15
        push    %rdx
        push    %rsi
        push    %rdi
        movb    $0, was_off(%rip)
        LOAD_ALL
        call    \stub
        .if     \is_leaf
        .byte   0x0f, 0x82
        .long   3f - . - 4
        .endif
        .byte   0xa9
        .long   \id
        jmp     4f
3:      movb    $1, was_off(%rip)
4:      STORE_ALL 8
        mov     0(%rsp), %rdi
        LOAD_ALL
        cmpb    $0, was_off(%rip)
        jne     5f
        call    tare_stub_exit
        .byte   0xa9
        .long   \id
5:      STORE_ALL 16
        pop     %rdi
        pop     %rsi
        pop     %rdx
        pop     %r15
        pop     %r14
        pop     %r13
        pop     %r12
        pop     %rbp
        pop     %rbx
        ret
        .endm

        CHECK   check_probe, tare_stub_enter, 3, 0
        CHECK   check_leaf, tare_stub_leaf, 4, 1
        .section .note.GNU-stack,"",@progbits
