# What calibration runs: stubs as an image has them, and the loops that take them. Behind routines.s, whose entries call the stubs where
# a call does its work twice.

        .data
        .balign 8
# What the stubs of an image test and load, for calls that do their work twice and for calibration.
tare_again_leaf:
        .quad   tare_probe_enter_leaf
        .globl  tare_calibration_enter
        .hidden tare_calibration_enter
tare_calibration_enter:
        .quad   tare_probe_enter
        .globl  tare_calibration_exit
        .hidden tare_calibration_exit
tare_calibration_exit:
        .quad   tare_probe_exit
tare_again_base:
        .long   0

        .text
# What a call that is off or clockless does, once more: sites of region 0, which stands for the real one (`aside.rs`),
# through the stubs that an image has.
        .macro  AGAIN_STUB name, slot
        .type   \name, @function
        .balign 16
\name:
        .cfi_startproc
        cmpq    $0, \slot(%rip)
        je      1f
        mov     %rax, -16(%rsp)
        mov     tare_again_base(%rip), %eax
        jmp     *\slot(%rip)
1:      ret
        .cfi_endproc
        .size   \name, .-\name
        .endm

        AGAIN_STUB tare_again_leaf_stub, tare_again_leaf
        AGAIN_STUB tare_again_enter_stub, tare_calibration_enter
        AGAIN_STUB tare_again_exit_stub, tare_calibration_exit
        .purgem AGAIN_STUB

# Calls a pair of probes edi times, through stubs as an image has them: the loop that calibrates the prior.
        .globl  tare_calibration_loop
        .hidden tare_calibration_loop
        .type   tare_calibration_loop, @function
        .balign 64
tare_calibration_loop:
        .cfi_startproc
        push    %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        mov     %edi, %ebx
1:      call    tare_again_enter_stub
        test    $1, %eax
        call    tare_again_exit_stub
        test    $1, %eax
        dec     %ebx
        jnz     1b
        pop     %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size   tare_calibration_loop, .-tare_calibration_loop

# Calls an entry of a leaf edi times, which counts and says that the body is to run without probes.
        .globl  tare_calibration_counting
        .hidden tare_calibration_counting
        .type   tare_calibration_counting, @function
        .balign 64
tare_calibration_counting:
        .cfi_startproc
        push    %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        mov     %edi, %ebx
1:      call    tare_again_leaf_stub
        .byte   0x0f, 0x82, 0, 0, 0, 0
        test    $1, %eax
        dec     %ebx
        jnz     1b
        pop     %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size   tare_calibration_counting, .-tare_calibration_counting

# Serial work, edi times: multiplications that need one another, and a branch on what they give, which nothing predicts. Where esi is
# not zero a pair of probes is around each.
        .globl  tare_calibration_work
        .hidden tare_calibration_work
        .type   tare_calibration_work, @function
        .balign 64
tare_calibration_work:
        .cfi_startproc
        push    %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        push    %r12
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %r12, 0
        push    %r13
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %r13, 0
        mov     %edi, %ebx
        mov     %esi, %r13d
        mov     $12345, %r12d
1:      test    %r13d, %r13d
        jz      2f
        call    tare_again_enter_stub
        test    $1, %eax
2:
        .rept   4
        imul    $1103515245, %r12, %r12
        add     $12345, %r12
        imul    $1103515245, %r12, %r12
        add     $54321, %r12
        bt      $40, %r12
        jc      4f
        xor     $5, %r12
4:
        .endr
        test    %r13d, %r13d
        jz      3f
        call    tare_again_exit_stub
        test    $1, %eax
3:      dec     %ebx
        jnz     1b
        pop     %r13
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r13
        pop     %r12
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r12
        pop     %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size   tare_calibration_work, .-tare_calibration_work
