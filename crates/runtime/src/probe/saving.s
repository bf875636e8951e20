# What every way out of a probe saves, and where: the words below the caller's stack pointer, of which -8 is free, and in which the
# stub has saved r11 at -16, r10 at -40 and r9 at -48. In front of the assembly that uses it, which purges the macros at its end.

# What the quiet paths of a function's probe need.
        .macro  SAVE_FEW
        mov     %rax, -24(%rsp)
        .endm

        .macro  RESTORE_FEW
        mov     -16(%rsp), %r11
        mov     -24(%rsp), %rax
        mov     -40(%rsp), %r10
        mov     -48(%rsp), %r9
        .endm

# The rest of what every other path needs.
        .macro  SAVE_REST
        mov     %rdx, -32(%rsp)
        mov     %r8, -56(%rsp)
        .endm

        .macro  RESTORE_REST
        mov     -32(%rsp), %rdx
        mov     -56(%rsp), %r8
        .endm

        .macro  SAVE_MORE
        mov     %rcx, -64(%rsp)
        mov     %rsi, -72(%rsp)
        mov     %rdi, -80(%rsp)
        .endm

        .macro  RESTORE_MORE
        mov     -64(%rsp), %rcx
        mov     -72(%rsp), %rsi
        mov     -80(%rsp), %rdi
        .endm

# Over the red zone, in which the saved words stand, before a call, and back. (Tools such as valgrind hold what is below the
# stack pointer for lost at a call.)
        .macro  LEAVE_RED_ZONE
        lea     -128(%rsp), %rsp
        .cfi_adjust_cfa_offset 128
        .endm

        .macro  REJOIN_RED_ZONE
        lea     128(%rsp), %rsp
        .cfi_adjust_cfa_offset -128
        .endm

# To a stack of Rust's, with the frame pointer and the flags saved, and back.
        .macro  TO_RUST
        push    %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbp, 0
        pushfq
        .cfi_adjust_cfa_offset 8
        mov     %rsp, %rbp
        .cfi_def_cfa_register %rbp
        cld
        .endm

        .macro  FROM_RUST
        mov     %rbp, %rsp
        .cfi_def_cfa_register %rsp
        popfq
        .cfi_adjust_cfa_offset -8
        pop     %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
        .endm
