# What calibration runs: stubs as an image has them, and the loops that take them.

        .data
        .balign 64
# The slots of these stubs.
        .globl  tare_calibration_slots
        .hidden tare_calibration_slots
tare_calibration_slots:
        .zero   64

        .text
        .cfi_startproc
        TARE_ENTER_STUB tare_calibration_stub_enter, tare_calibration_slots, {ENTER_SLOT}, {ID}, {CLOCKLESS}, {CLOCKLESS_TWICE}, 0
        .cfi_endproc
        .cfi_startproc
        TARE_ENTER_STUB tare_calibration_stub_leaf, tare_calibration_slots, {LEAF_SLOT}, {LEAF_ID}, {OFF}, {OFF_TWICE}, 1
        .cfi_endproc
        .cfi_startproc
        TARE_EXIT_STUB tare_calibration_stub_exit, tare_calibration_slots, {EXIT_SLOT}
        .cfi_endproc
        .purgem TARE_ENTER_STUB
        .purgem TARE_EXIT_STUB
        .purgem TARE_REGION_STUB

# Calls edi times a function that does nothing: with a pair of probes, as a leaf that may run without them, or with none.
        .macro  HOT_LOOP name
        .globl  \name
        .hidden \name
        .type   \name, @function
        .balign 64
\name:
        .cfi_startproc
        push    %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        mov     %edi, %ebx
1:      call    \name\()_function
        dec     %ebx
        jnz     1b
        pop     %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size   \name, .-\name
        .balign 64
        .type   \name\()_function, @function
\name\()_function:
        .endm

        HOT_LOOP tare_calibration_loop
        .cfi_startproc
        call    tare_calibration_stub_enter
        test    $1, %eax
        call    tare_calibration_stub_exit
        test    $1, %eax
        ret
        .cfi_endproc

        HOT_LOOP tare_calibration_counting
        .cfi_startproc
        call    tare_calibration_stub_leaf
        .byte   0x0f, 0x82
        .long   1f - . - 4
        test    $1, %eax
        call    tare_calibration_stub_exit
        test    $1, %eax
1:      ret
        .cfi_endproc

        HOT_LOOP tare_calibration_plain
        .cfi_startproc
        ret
        .cfi_endproc
        .purgem HOT_LOOP

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
        call    tare_calibration_stub_enter
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
        call    tare_calibration_stub_exit
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
