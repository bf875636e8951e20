# What every way out of a probe saves, and where: the words below the caller's stack pointer, of which -8 is free and -16
# holds the site's own eax. In front of the assembly that uses it, which purges the macros at its end.

# What the quiet paths of a function's probe need.
        .macro  SAVE_FEW
        mov     %rcx, -24(%rsp)
        mov     %rsi, -40(%rsp)
        mov     %rdi, -48(%rsp)
        .endm

        .macro  RESTORE_FEW
        mov     -16(%rsp), %rax
        mov     -24(%rsp), %rcx
        mov     -40(%rsp), %rsi
        mov     -48(%rsp), %rdi
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
        mov     %r9, -64(%rsp)
        mov     %r10, -72(%rsp)
        mov     %r11, -80(%rsp)
        .endm

        .macro  RESTORE_MORE
        mov     -64(%rsp), %r9
        mov     -72(%rsp), %r10
        mov     -80(%rsp), %r11
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
