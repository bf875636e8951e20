# Probes of a run with metrics. What they find and must leave is what crates/format/src/probe.rs says.
#
# Compiled code touches the lower halves of the vector registers at most, and flags, which are saved; the upper halves
# stay where nothing is copied in large pieces. The slow path has a door of its own.

        .text
        .macro  METERED name, target, id, token, kind
        .globl  \name
        .hidden \name
        .type   \name, @function
        .balign 64
\name:
        .cfi_startproc
        endbr64
        SAVE_FEW
        SAVE_REST
        SAVE_MORE
        mov     (%rsp), %rcx
        add     \id(%rcx), %r11d
        mov     %r11, %rdi
        mov     %rdi, -88(%rsp)
.L\name\()_again:
        lea     \token(%rsp), %rsi
        LEAVE_RED_ZONE
        call    .L\name\()_door
        REJOIN_RED_ZONE
        test    %eax, %eax
        jz      .L\name\()_done
        mov     $\kind + \token, %r9d
        lea     \token(%rsp), %r8
        LEAVE_RED_ZONE
        call    tare_slow_entry_door
        REJOIN_RED_ZONE
        test    %r9d, %r9d
        jnz     .L\name\()_done
        mov     -88(%rsp), %rdi
        jmp     .L\name\()_again
.L\name\()_done:
        RESTORE_FEW
        RESTORE_REST
        RESTORE_MORE
        clc
        ret
.L\name\()_door:
        .cfi_adjust_cfa_offset 136
        TO_RUST
        sub     $256, %rsp
        and     $-64, %rsp
        movaps  %xmm0, (%rsp)
        movaps  %xmm1, 16(%rsp)
        movaps  %xmm2, 32(%rsp)
        movaps  %xmm3, 48(%rsp)
        movaps  %xmm4, 64(%rsp)
        movaps  %xmm5, 80(%rsp)
        movaps  %xmm6, 96(%rsp)
        movaps  %xmm7, 112(%rsp)
        movaps  %xmm8, 128(%rsp)
        movaps  %xmm9, 144(%rsp)
        movaps  %xmm10, 160(%rsp)
        movaps  %xmm11, 176(%rsp)
        movaps  %xmm12, 192(%rsp)
        movaps  %xmm13, 208(%rsp)
        movaps  %xmm14, 224(%rsp)
        movaps  %xmm15, 240(%rsp)
        call    \target
        movaps  (%rsp), %xmm0
        movaps  16(%rsp), %xmm1
        movaps  32(%rsp), %xmm2
        movaps  48(%rsp), %xmm3
        movaps  64(%rsp), %xmm4
        movaps  80(%rsp), %xmm5
        movaps  96(%rsp), %xmm6
        movaps  112(%rsp), %xmm7
        movaps  128(%rsp), %xmm8
        movaps  144(%rsp), %xmm9
        movaps  160(%rsp), %xmm10
        movaps  176(%rsp), %xmm11
        movaps  192(%rsp), %xmm12
        movaps  208(%rsp), %xmm13
        movaps  224(%rsp), %xmm14
        movaps  240(%rsp), %xmm15
        FROM_RUST
        ret
        .cfi_endproc
        .size   \name, .-\name
        .endm

        METERED tare_metered_enter, {ENTER}, {ID}, 0, 0
        METERED tare_metered_enter_leaf, {ENTER}, {LEAF_ID}, 0, 1
        METERED tare_metered_exit, {EXIT}, {ID}, 0, 2
        METERED tare_metered_enter_region, {ENTER}, {ID}, {REGION_TOKEN}, 0
        METERED tare_metered_exit_region, {EXIT}, {ID}, {REGION_TOKEN}, 2

        .purgem METERED
        .purgem SAVE_FEW
        .purgem SAVE_REST
        .purgem RESTORE_FEW
        .purgem RESTORE_REST
        .purgem SAVE_MORE
        .purgem RESTORE_MORE
        .purgem LEAVE_RED_ZONE
        .purgem REJOIN_RED_ZONE
        .purgem TO_RUST
        .purgem FROM_RUST
