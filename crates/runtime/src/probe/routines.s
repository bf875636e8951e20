# The probe routines. See crates/format/src/probe.rs for what they find and must leave.
#
# Registers throughout: rdi thread state, rsi current frame, rcx node of that frame (the parent), eax region
# id, r8 stack pointer of the measured function (address of its return address), r10 the node looked for,
# rdx base of the arena, r9 and r11 scratch.
#
# Below the stack pointer: -8 free, -16 rax (saved by the stub), -24 … -80 the others, -88 the region id.
# Signal handlers keep off 128 bytes there.

        .section .tdata,"awT",@progbits
        .balign 64
        .globl  tare_thread_state
        .hidden tare_thread_state
        .type   tare_thread_state, @object
        .size   tare_thread_state, {STATE_SIZE}
tare_thread_state:
        .quad   tare_dummy_frame
        .zero   {STATE_SIZE} - 8

        .section .data.rel.ro,"aw",@progbits
        .balign 32
        .globl  tare_dummy_frame
        .hidden tare_dummy_frame
        .type   tare_dummy_frame, @object
        .size   tare_dummy_frame, 32
# Its stack pointer is below every other: the first probe of a thread takes the slow path.
tare_dummy_frame:
        .zero   32

        .data
        .balign 32
        .globl  tare_xsave_mask
        .hidden tare_xsave_mask
tare_xsave_mask:
        .quad   0
# What the stub of an image tests and loads, for the second count of an off-twice call.
tare_again_slot:
        .quad   tare_count_again
tare_calibration_enter:
        .quad   tare_probe_enter
tare_calibration_exit:
        .quad   tare_probe_exit
tare_again_base:
        .long   0
tare_mxcsr:
        .long   0x1f80

        .text
        .macro  SAVE
        mov     %rcx, -24(%rsp)
        mov     %rdx, -32(%rsp)
        mov     %rsi, -40(%rsp)
        mov     %rdi, -48(%rsp)
        mov     %r8, -56(%rsp)
        mov     %r9, -64(%rsp)
        mov     %r10, -72(%rsp)
        mov     %r11, -80(%rsp)
        .endm

        .macro  RESTORE
        mov     -16(%rsp), %rax
        mov     -24(%rsp), %rcx
        mov     -32(%rsp), %rdx
        mov     -40(%rsp), %rsi
        mov     -48(%rsp), %rdi
        mov     -56(%rsp), %r8
        mov     -64(%rsp), %r9
        mov     -72(%rsp), %r10
        mov     -80(%rsp), %r11
        .endm

# The thread state; the one place where thread-local storage is touched.
        .macro  STATE
        mov     tare_thread_state@gottpoff(%rip), %rdi
        add     %fs:0, %rdi
        .endm

# From rdi and eax: checks the frame, finds the node. Leaves rsi, rcx, r8, r10. Falls through on a hit.
        .macro  LOOKUP miss, hit, slow
        mov     {FRAME}(%rdi), %rsi
        lea     8(%rsp), %r8
        cmp     %r8, {FRAME_SP}(%rsi)
        jbe     \slow
        cmp     {LIMIT}(%rdi), %rsi
        jae     \slow
        mov     {FRAME_NODE}(%rsi), %rcx
        mov     {ARENA}(%rdi), %rdx
        mov     {CACHE}(%rdi), %r9
        mov     %rcx, %r11
        sub     %rdx, %r11
        shl     $32, %r11
        mov     %r11, %r10
        xor     (%r9,%rax,8), %r10
        mov     %r10, %r9
        shr     $32, %r9
        jnz     \miss
        add     %rdx, %r10
\hit:
        .endm

# The site cache knows another parent: look into the table of edges. r11 = parent's offset in the high half.
        .macro  MISS hit, slow
        or      %rax, %r11
        mov     {EDGES}(%rdi), %r9
        movabs  $0x9e3779b97f4a7c15, %r10
        imul    %r11, %r10
        shr     $28, %r10
1:      and     (%r9), %r10
        cmp     %r11, {EDGE_TABLE}(%r9,%r10)
        je      2f
        cmpq    $0, {EDGE_TABLE}(%r9,%r10)
        je      \slow
        add     $16, %r10
        jmp     1b
2:      mov     {EDGE_TABLE}+8(%r9,%r10), %r10
        xor     %rax, %r11
        or      %r10, %r11
        mov     {CACHE}(%rdi), %r9
        mov     %r11, (%r9,%rax,8)
        add     %rdx, %r10
        jmp     \hit
        .endm

# Claim the frame first, then read the clock, then the rest: a handler that comes between finds a frame that
# is its own or nobody's. `last` is moved by addition, so that exclusive times always sum up to it.
        .macro  OPEN
        mov     %r10, 32+{FRAME_NODE}(%rsi)
        mov     %r8, 32+{FRAME_SP}(%rsi)
        add     $32, %rsi
        mov     %rsi, {FRAME}(%rdi)
        rdtsc
        shl     $32, %rdx
        or      %rdx, %rax
        mov     %rax, %rdx
        sub     {LAST}(%rdi), %rdx
        add     %rdx, {EXCLUSIVE}(%rcx)
        add     %rdx, {LAST}(%rdi)
        incq    {CALLS}(%r10)
        mov     %r10, {FRAME_NODE}(%rsi)
        mov     %r8, {FRAME_SP}(%rsi)
        mov     {COST}(%r10), %rdx
        add     %rdx, {OVERHEAD}(%rdi)
        incq    {EVENTS}(%rdi)
        mov     {EVENTS}(%rdi), %rdx
        sub     {EVENTS_BELOW}(%r10), %rdx
        mov     %rdx, {FRAME_EVENTS}(%rsi)
        sub     {INCLUSIVE}(%r10), %rax
        mov     %rax, {FRAME_BASE}(%rsi)
        .endm

        .globl  tare_probe_enter
        .hidden tare_probe_enter
        .type   tare_probe_enter, @function
        .balign 64
tare_probe_enter:
        .cfi_startproc
        endbr64
        SAVE
        mov     (%rsp), %rcx
        add     {ID}(%rcx), %eax
        STATE
.Lenter_again:
        LOOKUP  .Lenter_miss, .Lenter_hit, .Lenter_slow
        OPEN
.Lenter_done:
        RESTORE
        clc
        ret
.Lenter_miss:
        MISS    .Lenter_hit, .Lenter_slow
.Lenter_slow:
        mov     %rax, -88(%rsp)
        xor     %r9d, %r9d
        call    tare_slow_entry_door
        test    %r9d, %r9d
        jnz     .Lenter_done
        mov     -88(%rsp), %rax
        jmp     .Lenter_again
        .cfi_endproc
        .size   tare_probe_enter, .-tare_probe_enter

        .globl  tare_probe_enter_leaf
        .hidden tare_probe_enter_leaf
        .type   tare_probe_enter_leaf, @function
        .balign 64
tare_probe_enter_leaf:
        .cfi_startproc
        endbr64
        SAVE
        mov     (%rsp), %rcx
        add     {LEAF_ID}(%rcx), %eax
        STATE
.Lleaf_again:
        LOOKUP  .Lleaf_miss, .Lleaf_hit, .Lleaf_slow
        subl    $1, {LEFT}(%r10)
        jb      .Lleaf_slow
        cmpb    $0, {MODE}(%r10)
        jne     .Lleaf_off
        OPEN
.Lleaf_on:
        RESTORE
        clc
        ret
.Lleaf_off:
        cmpb    $2, {MODE}(%r10)
        je      .Lleaf_twice
.Lleaf_counted:
        RESTORE
        stc
        ret
.Lleaf_twice:
        mov     %rax, -88(%rsp)
        lea     -128(%rsp), %rsp
        .cfi_adjust_cfa_offset 128
        call    tare_again_stub
        test    $0, %eax
        lea     128(%rsp), %rsp
        .cfi_adjust_cfa_offset -128
        jmp     .Lleaf_counted
.Lleaf_miss:
        MISS    .Lleaf_hit, .Lleaf_slow
.Lleaf_slow:
        mov     %rax, -88(%rsp)
        mov     $1, %r9d
        call    tare_slow_entry_door
        cmp     $1, %r9d
        je      .Lleaf_on
        ja      .Lleaf_counted
        mov     -88(%rsp), %rax
        jmp     .Lleaf_again
        .cfi_endproc
        .size   tare_probe_enter_leaf, .-tare_probe_enter_leaf

# What a counted call does, once more: the image's stub …
        .type   tare_again_stub, @function
        .balign 16
tare_again_stub:
        .cfi_startproc
        cmpq    $0, tare_again_slot(%rip)
        je      1f
        mov     %rax, -16(%rsp)
        mov     tare_again_base(%rip), %eax
        jmp     *tare_again_slot(%rip)
1:      ret
        .cfi_endproc
        .size   tare_again_stub, .-tare_again_stub

# … and the routine. The region id is that of the routine that calls, 136 - 88 bytes above.
        .type   tare_count_again, @function
        .balign 64
tare_count_again:
        .cfi_startproc
        endbr64
        SAVE
        mov     (%rsp), %rcx
        add     {ID}(%rcx), %eax
        add     48(%rsp), %eax
        STATE
        LOOKUP  .Lcount_done, .Lcount_hit, .Lcount_done
        subl    $1, {AGAIN}(%rdi)
        jb      .Lcount_done
        cmpb    $0, {MODE}(%r10)
        jne     .Lcount_off
.Lcount_done:
        RESTORE
        stc
        ret
.Lcount_off:
        cmpb    $3, {MODE}(%r10)
        je      .Lcount_done
        RESTORE
        stc
        ret
        .cfi_endproc
        .size   tare_count_again, .-tare_count_again

        .globl  tare_probe_exit
        .hidden tare_probe_exit
        .type   tare_probe_exit, @function
        .balign 64
tare_probe_exit:
        .cfi_startproc
        endbr64
        mov     %rdx, -32(%rsp)
        mov     %rcx, -24(%rsp)
        mov     %rsi, -40(%rsp)
        mov     %rdi, -48(%rsp)
        rdtsc
        shl     $32, %rdx
        or      %rdx, %rax
        STATE
        mov     {FRAME}(%rdi), %rsi
        lea     8(%rsp), %rcx
        cmp     %rcx, {FRAME_SP}(%rsi)
        jne     .Lexit_slow
        mov     {FRAME_NODE}(%rsi), %rcx
        mov     %rax, %rdx
        sub     {LAST}(%rdi), %rdx
        add     %rdx, {EXCLUSIVE}(%rcx)
        add     %rdx, {LAST}(%rdi)
        mov     {EVENTS}(%rdi), %rdx
        sub     {FRAME_EVENTS}(%rsi), %rdx
        mov     %rdx, {EVENTS_BELOW}(%rcx)
        incq    {EVENTS}(%rdi)
        sub     {FRAME_BASE}(%rsi), %rax
        mov     %rax, {INCLUSIVE}(%rcx)
        sub     $32, %rsi
        mov     %rsi, {FRAME}(%rdi)
.Lexit_done:
        mov     -16(%rsp), %rax
        mov     -24(%rsp), %rcx
        mov     -32(%rsp), %rdx
        mov     -40(%rsp), %rsi
        mov     -48(%rsp), %rdi
        ret
.Lexit_slow:
        mov     %r8, -56(%rsp)
        mov     %r9, -64(%rsp)
        mov     %r10, -72(%rsp)
        mov     %r11, -80(%rsp)
        mov     %rcx, %r8
        mov     %rax, -88(%rsp)
        mov     $2, %r9d
        call    tare_slow_entry_door
        mov     -56(%rsp), %r8
        mov     -64(%rsp), %r9
        mov     -72(%rsp), %r10
        mov     -80(%rsp), %r11
        jmp     .Lexit_done
        .cfi_endproc
        .size   tare_probe_exit, .-tare_probe_exit

# Into Rust: rdi state, r8 stack pointer of the function, r9d kind (0 enter, 1 enter_leaf, 2 exit), region id
# or clock of the exit 8 bytes below the caller's saves. Leaves the answer in r9d. The caller's `call` put its
# return address into the free word at -8, so the saves stand one word further off.
        .type   tare_slow_entry_door, @function
        .balign 16
tare_slow_entry_door:
        .cfi_startproc
        lfence
        rdtsc
        lfence
        shl     $32, %rdx
        or      %rdx, %rax
        mov     -80(%rsp), %rsi
        lea     -128(%rsp), %rsp
        .cfi_adjust_cfa_offset 128
        push    %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbp, 0
        pushfq
        .cfi_adjust_cfa_offset 8
        mov     %rsp, %rbp
        .cfi_def_cfa_register %rbp
        cld
        sub     ${SAVE_AREA}, %rsp
        and     $-64, %rsp
        mov     %rax, %r10
        mov     tare_xsave_mask(%rip), %eax
        test    %eax, %eax
        jz      1f
        xor     %edx, %edx
        mov     %rdx, 512(%rsp)
        mov     %rdx, 520(%rsp)
        mov     %rdx, 528(%rsp)
        mov     %rdx, 536(%rsp)
        mov     %rdx, 544(%rsp)
        mov     %rdx, 552(%rsp)
        mov     %rdx, 560(%rsp)
        mov     %rdx, 568(%rsp)
        xsave64 (%rsp)
        jmp     2f
1:      fxsave64 (%rsp)
2:      ldmxcsr tare_mxcsr(%rip)
        mov     %r8, %rdx
        mov     %r10, %rcx
        mov     %r9d, %r8d
        call    {SLOW_PATH}
        mov     %eax, %r9d
        mov     tare_xsave_mask(%rip), %eax
        test    %eax, %eax
        jz      3f
        xor     %edx, %edx
        xrstor64 (%rsp)
        jmp     4f
3:      fxrstor64 (%rsp)
4:      mov     %rbp, %rsp
        .cfi_def_cfa_register %rsp
        popfq
        .cfi_adjust_cfa_offset -8
        pop     %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
        lea     128(%rsp), %rsp
        .cfi_adjust_cfa_offset -128
        mov     tare_thread_state@gottpoff(%rip), %rdi
        add     %fs:0, %rdi
        ret
        .cfi_endproc
        .size   tare_slow_entry_door, .-tare_slow_entry_door

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
1:      call    2f
        test    $1, %eax
        call    3f
        test    $1, %eax
        dec     %ebx
        jnz     1b
        pop     %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        .cfi_endproc
2:      cmpq    $0, tare_calibration_enter(%rip)
        je      4f
        mov     %rax, -16(%rsp)
        mov     tare_again_base(%rip), %eax
        jmp     *tare_calibration_enter(%rip)
3:      cmpq    $0, tare_calibration_exit(%rip)
        je      4f
        mov     %rax, -16(%rsp)
        mov     tare_again_base(%rip), %eax
        jmp     *tare_calibration_exit(%rip)
4:      ret
        .size   tare_calibration_loop, .-tare_calibration_loop

        .purgem SAVE
        .purgem RESTORE
        .purgem STATE
        .purgem LOOKUP
        .purgem MISS
        .purgem OPEN
