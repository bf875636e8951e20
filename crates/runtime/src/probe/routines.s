# The probe routines. See crates/format/src/probe.rs for what they find and must leave.
#
# Registers throughout: rdi offset of the thread state from the thread pointer, rsi current frame, rcx node of
# that frame (the parent), r8 region id and then the node looked for, rax clock, rdx scratch. Few, because each is saved and
# restored; the rest is saved where a path needs it.
#
# Nodes are 32-bit words in site cache and edges: the low half of their addresses. The high half is the same
# for all nodes of a thread, since an arena is aligned to its size.
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
        .endm

        .macro  RESTORE
        mov     -16(%rsp), %rax
        mov     -24(%rsp), %rcx
        mov     -32(%rsp), %rdx
        mov     -40(%rsp), %rsi
        mov     -48(%rsp), %rdi
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

        .macro  CLOCK
        rdtsc
        shl     $32, %rdx
        or      %rdx, %rax
        .endm

# The offset of the thread state from the thread pointer.
        .macro  STATE
        mov     tare_thread_state@gottpoff(%rip), %rdi
        .endm

# From r8d: checks the frame, finds the node. Leaves rsi, rcx, r8, and the stack pointer in rdx. Falls
# through on a hit. An entry of the site cache is one word, so that a handler that changes it cannot come
# between its halves.
        .macro  LOOKUP miss, hit, slow
        mov     %fs:{FRAME}(%rdi), %rsi
        lea     8(%rsp), %rdx
        cmp     %rdx, {FRAME_SP}(%rsi)
        jbe     \slow
        cmp     %fs:{LIMIT}(%rdi), %rsi
        jae     \slow
        mov     %fs:{CACHE}(%rdi), %rcx
        mov     (%rcx,%r8,8), %r8
        mov     {FRAME_NODE}(%rsi), %rcx
        cmp     %r8d, %ecx
        jne     \miss
        shr     $32, %r8
        add     %fs:{HIGH}(%rdi), %r8
\hit:
        .endm

# The site cache knows another parent: see where the parent led last, then look into the table of edges, and tell
# both. What a parent remembers is one word as well.
        .macro  MISS hit, slow
        mov     {LAST_CHILD}(%rcx), %r8
        cmp     %r8d, -88(%rsp)
        jne     4f
        shr     $32, %r8
        add     %fs:{HIGH}(%rdi), %r8
        jmp     \hit
4:      SAVE_MORE
        mov     -88(%rsp), %r8
        mov     %rcx, %r11
        shl     $32, %r11
        or      %r8, %r11
        mov     %fs:{EDGES}(%rdi), %r9
        movabs  $0x9e3779b97f4a7c15, %r10
        imul    %r11, %r10
        shr     $28, %r10
1:      and     (%r9), %r10
        cmp     %r11, {EDGE_TABLE}(%r9,%r10)
        je      2f
        cmpq    $0, {EDGE_TABLE}(%r9,%r10)
        je      3f
        add     $16, %r10
        jmp     1b
2:      mov     {EDGE_TABLE}+8(%r9,%r10), %r10
        mov     %r10, %r11
        shl     $32, %r11
        mov     %ecx, %r9d
        or      %r9, %r11
        mov     %fs:{CACHE}(%rdi), %r9
        mov     %r11, (%r9,%r8,8)
        mov     %r10, %r11
        shl     $32, %r11
        or      %r8, %r11
        mov     %r11, {LAST_CHILD}(%rcx)
        mov     %r10, %r8
        add     %fs:{HIGH}(%rdi), %r8
        RESTORE_MORE
        jmp     \hit
3:      RESTORE_MORE
        jmp     \slow
        .endm

# A frame is claimed before anything is counted in it: node and stack pointer, then the frame pointer. A
# handler that comes before that uses the frame for itself, so COUNT writes both once more.
        .macro  CLAIM
        mov     %r8, 32+{FRAME_NODE}(%rsi)
        mov     %rdx, 32+{FRAME_SP}(%rsi)
        add     $32, %rsi
        mov     %rsi, %fs:{FRAME}(%rdi)
        .endm

# From the clock in rax. `last` is moved by addition, so that exclusive times always sum up to it.
        .macro  COUNT
        lea     8(%rsp), %rdx
        mov     %r8, {FRAME_NODE}(%rsi)
        mov     %rdx, {FRAME_SP}(%rsi)
        mov     %rax, %rdx
        sub     %fs:{LAST}(%rdi), %rdx
        add     %rdx, {EXCLUSIVE}(%rcx)
        add     %rdx, %fs:{LAST}(%rdi)
        incq    {CALLS}(%r8)
        mov     {COST}(%r8), %rdx
        add     %rdx, %fs:{OVERHEAD}(%rdi)
        sub     {INCLUSIVE}(%r8), %rax
        mov     %rax, {FRAME_BASE}(%rsi)
        .endm

# Whether the batch of this call is off: the region (in eax) and the parent are those that the thread state names,
# and the frame is alive. If so, counts it down, and says in the flags whether it is to be counted twice. The node
# is loaded before the look at the region, so that it is the right one whatever a handler does between.
        .macro  COUNT_OFF region, left, elsewhere, over
        mov     %fs:{OFF_NODE}(%rdi), %rcx
        cmp     %eax, %fs:\region(%rdi)
        jne     \elsewhere
        mov     %fs:{FRAME}(%rdi), %rax
        lea     8(%rsp), %rdi
        cmp     %rdi, {FRAME_SP}(%rax)
        STATE
        jbe     \elsewhere
        mov     {FRAME_NODE}(%rax), %rax
        cmp     %rax, %fs:{OFF_PARENT}(%rdi)
        jne     \elsewhere
        subw    $1, \left
        jb      \over
        cmpl    $0, %fs:{OFF_TWICE}(%rdi)
        .endm

# Into the slow path; its answer is in eax.
        .macro  SLOW kind
        SAVE_MORE
        mov     $\kind, %r9d
        call    tare_slow_entry_door
        mov     %r9d, %eax
        RESTORE_MORE
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
        mov     %eax, %r8d
# Between the two loads that lead to the region id, so that the clock's own time hides them.
        CLOCK
        add     {ID}(%rcx), %r8d
        mov     %r8, -88(%rsp)
.Lenter_again:
        STATE
        LOOKUP  .Lenter_miss, .Lenter_hit, .Lenter_slow
        CLAIM
        COUNT
.Lenter_done:
        RESTORE
        ret
.Lenter_miss:
        MISS    .Lenter_hit, .Lenter_slow
.Lenter_slow:
        SLOW    0
        test    %eax, %eax
        jnz     .Lenter_done
        mov     -88(%rsp), %r8
        CLOCK
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
        STATE
# Most of the time no batch of the thread is off, and the clock can be read before the region is known.
        cmpl    $0, %fs:{OFF_REGION}(%rdi)
        jne     .Lleaf_look
.Lleaf_on:
        mov     (%rsp), %rcx
        mov     %eax, %r8d
        CLOCK
        add     {LEAF_ID}(%rcx), %r8d
        mov     %r8, -88(%rsp)
.Lleaf_again:
        LOOKUP  .Lleaf_miss, .Lleaf_hit, .Lleaf_slow
        mov     {CALLS}(%r8), %edx
        sub     {UNTIL}(%r8), %edx
        jns     .Lleaf_slow
        lea     8(%rsp), %rdx
        CLAIM
        COUNT
.Lleaf_done:
        RESTORE
        clc
        ret
.Lleaf_look:
        mov     (%rsp), %rcx
        mov     %eax, %r8d
        add     {LEAF_ID}(%rcx), %eax
        mov     %rax, -88(%rsp)
        COUNT_OFF {OFF_REGION}, {LEFT}(%rcx), .Lleaf_elsewhere, .Lleaf_slow
        jne     .Lleaf_twice
.Lleaf_counted:
        mov     -16(%rsp), %rax
        mov     -24(%rsp), %rcx
        mov     -48(%rsp), %rdi
        mov     -56(%rsp), %r8
        stc
        ret
.Lleaf_elsewhere:
        mov     %r8d, %eax
        jmp     .Lleaf_on
.Lleaf_miss:
        MISS    .Lleaf_hit, .Lleaf_slow
.Lleaf_slow:
        SLOW    1
        test    %eax, %eax
        jnz     .Lleaf_done
# What the slow path decided is in the thread state; it used registers that a call that is off leaves alone.
        mov     -32(%rsp), %rdx
        mov     -40(%rsp), %rsi
        STATE
        mov     -88(%rsp), %rax
        COUNT_OFF {OFF_REGION}, {LEFT}(%rcx), .Lleaf_decided, .Lleaf_slow
        je      .Lleaf_counted
        jmp     .Lleaf_twice
.Lleaf_decided:
        mov     -88(%rsp), %r8
        CLOCK
        jmp     .Lleaf_again
.Lleaf_twice:
        lea     -128(%rsp), %rsp
        .cfi_adjust_cfa_offset 128
        call    tare_again_stub
        test    $0, %eax
        lea     128(%rsp), %rsp
        .cfi_adjust_cfa_offset -128
        jmp     .Lleaf_counted
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

# … and the routine, with a region and a count that stand for the real ones.
        .type   tare_count_again, @function
        .balign 64
tare_count_again:
        .cfi_startproc
        endbr64
        SAVE
        STATE
        cmpl    $0, %fs:{OFF_REGION}(%rdi)
        je      .Lcount_done
        mov     (%rsp), %rcx
        mov     %eax, %r8d
        add     {ID}(%rcx), %eax
        mov     %rax, -88(%rsp)
        COUNT_OFF {AGAIN_REGION}, %fs:{AGAIN_LEFT}(%rdi), .Lcount_done, .Lcount_done
        je      .Lcount_done
.Lcount_done:
        mov     -16(%rsp), %rax
        mov     -24(%rsp), %rcx
        mov     -48(%rsp), %rdi
        mov     -56(%rsp), %r8
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
# The loads that lead to the node come before the clock, whose own time hides them.
        mov     %rdi, -48(%rsp)
        mov     tare_thread_state@gottpoff(%rip), %rdi
        mov     %rsi, -40(%rsp)
        mov     %fs:{FRAME}(%rdi), %rsi
        mov     %rdx, -32(%rsp)
        mov     %rcx, -24(%rsp)
        mov     {FRAME_NODE}(%rsi), %rcx
        CLOCK
        lea     8(%rsp), %rdx
        cmp     %rdx, {FRAME_SP}(%rsi)
        jne     .Lexit_slow
        mov     %rax, %rdx
        sub     %fs:{LAST}(%rdi), %rdx
        add     %rdx, {EXCLUSIVE}(%rcx)
        add     %rdx, %fs:{LAST}(%rdi)
        sub     {FRAME_BASE}(%rsi), %rax
        mov     %rax, {INCLUSIVE}(%rcx)
        sub     $32, %rsi
        mov     %rsi, %fs:{FRAME}(%rdi)
.Lexit_done:
        mov     -16(%rsp), %rax
        mov     -24(%rsp), %rcx
        mov     -32(%rsp), %rdx
        mov     -40(%rsp), %rsi
        mov     -48(%rsp), %rdi
        ret
.Lexit_slow:
        mov     %r8, -56(%rsp)
        mov     %rax, -88(%rsp)
        SLOW    2
        mov     -56(%rsp), %r8
        jmp     .Lexit_done
        .cfi_endproc
        .size   tare_probe_exit, .-tare_probe_exit

# Into Rust: r9d kind (0 enter, 1 enter_leaf, 2 exit); region id or clock of the exit in the caller's word at
# -88. Leaves the answer in r9d. The caller's `call` put its return address into the free word at -8, so the
# caller's words stand 8 bytes further off; its own stack pointer, less the return address, is the function's.
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
        lea     16(%rsp), %r8
        mov     tare_thread_state@gottpoff(%rip), %rdi
        add     %fs:0, %rdi
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
        .purgem SAVE_MORE
        .purgem RESTORE_MORE
        .purgem SLOW
        .purgem CLOCK
        .purgem LOOKUP
        .purgem STATE
        .purgem MISS
        .purgem CLAIM
        .purgem COUNT_OFF
        .purgem COUNT
