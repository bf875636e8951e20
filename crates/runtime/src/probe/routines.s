# The probe routines. See crates/format/src/probe.rs for what they find and must leave.
#
# Stack pointers in frames are even; one less in a frame that is clockless (local.rs says what else). Where one is, counted
# from the routine's own stack pointer, is `token`: 8 in routines for functions.
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
tare_mxcsr:
        .long   0x1f80
        .balign 8
tare_all_signals:
        .quad   -1

        .text
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
        .macro  LOOKUP miss, hit, slow, token=8
        mov     %fs:{FRAME}(%rdi), %rsi
        lea     \token(%rsp), %rdx
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

# A frame is claimed before anything is counted in it: stack pointer and node, then the frame pointer. A handler that
# comes before that uses the frame for itself and leaves a stack pointer of its own there: then both are written once more.
        .macro  CLAIM lost, claimed
        mov     %rdx, 32+{FRAME_SP}(%rsi)
        PUSH_FRAME \lost, \claimed
        .endm

        .macro  PUSH_FRAME lost, claimed
        mov     %r8, 32+{FRAME_NODE}(%rsi)
        add     $32, %rsi
        mov     %rsi, %fs:{FRAME}(%rdi)
        cmp     %rdx, {FRAME_SP}(%rsi)
        jne     \lost
\claimed:
        .endm

        .macro  CLAIM_AGAIN claimed
        mov     %r8, {FRAME_NODE}(%rsi)
        mov     %rdx, {FRAME_SP}(%rsi)
        jmp     \claimed
        .endm

# From the clock in rax. `last` is moved by addition, so that exclusive times always sum up to it.
        .macro  COUNT
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

# A clockless frame: as CLAIM, with a stack pointer that says so, and in place of a base the node that time goes to while
# it is open: the parent, or where that is clockless itself, what the parent's frame names. Where it is written once more, that
# stands there before the stack pointer does, since a handler that sees the one follows the other.
        .macro  CLAIM_CLOCKLESS lost, claimed
        testb   $1, {FRAME_SP}(%rsi)
        jz      1f
        mov     {FRAME_BASE}(%rsi), %rcx
1:      sub     $1, %rdx
        mov     %rdx, 32+{FRAME_SP}(%rsi)
        mov     %rcx, 32+{FRAME_BASE}(%rsi)
        PUSH_FRAME \lost, \claimed
        .endm

# The region of a site into r8, from its return address and the base of its image in eax.
        .macro  REGION id
        mov     (%rsp), %r8
        mov     \id(%r8), %r8d
        add     %eax, %r8d
        .endm

# Keeps the region for what is slow.
        .macro  NOTE_REGION id
        REGION  \id
        mov     %r8, -88(%rsp)
        .endm

# Whether the batch under way has had its calls.
        .macro  UNTIL slow, token=8
        mov     {CALLS}(%r8), %edx
        sub     {UNTIL}(%r8), %edx
        jns     \slow
        lea     \token(%rsp), %rdx
        .endm

# Counts a call of a batch that is off or clockless. One that finds none left is taken back, in one instruction each,
# so that a handler between the two changes nothing.
        .macro  COUNT_ASIDE over
        subw    $1, {LEFT}(%r8)
        js      \over
        .endm

# What a probe begins with once more, after the slow path: the thread state, and the base of the image.
        .macro  AGAIN id
        STATE
        mov     -88(%rsp), %rax
        mov     (%rsp), %rcx
        sub     \id(%rcx), %eax
        .endm

# Into the slow path; its answer is in eax.
        .macro  SLOW kind, token=8
        SAVE_MORE
        mov     $\kind + \token - 8, %r9d
        lea     \token(%rsp), %r8
        LEAVE_RED_ZONE
        call    tare_slow_entry_door
        REJOIN_RED_ZONE
        mov     %r9d, %eax
        RESTORE_MORE
        .endm

        .macro  ENTER name, token
        .globl  \name
        .hidden \name
        .type   \name, @function
        .balign 64
\name:
        .cfi_startproc
        endbr64
        SAVE
        STATE
# Where all nodes of the thread are on, the clock is read between the two loads that lead to the region id, so that its
# own time hides them.
        cmpl    $0, %fs:{ASIDE}(%rdi)
        jne     .L\name\()_aside
        mov     (%rsp), %rcx
        mov     %eax, %r8d
        CLOCK
        add     {ID}(%rcx), %r8d
        mov     %r8, -88(%rsp)
        LOOKUP  .L\name\()_miss, .L\name\()_hit, .L\name\()_slow, \token
        UNTIL   .L\name\()_slow, \token
        CLAIM   .L\name\()_lost, .L\name\()_claimed
        COUNT
.L\name\()_done:
        RESTORE
        ret
# Here the clock is not read, or late: the base of the image stays in eax until then.
.L\name\()_aside:
        REGION  {ID}
        LOOKUP  .L\name\()_aside_miss, .L\name\()_aside_hit, .L\name\()_aside_slow, \token
        cmpb    $0, {MODE}(%r8)
        jne     .L\name\()_clockless
        UNTIL   .L\name\()_aside_slow, \token
        testb   $1, {FRAME_SP}(%rsi)
        jz      1f
        mov     {FRAME_BASE}(%rsi), %rcx
1:      CLAIM   .L\name\()_aside_lost, .L\name\()_aside_claimed
        CLOCK
        COUNT
        RESTORE
        ret
.L\name\()_clockless:
        COUNT_ASIDE .L\name\()_over
        cmpb    ${CLOCKLESS_TWICE}, {MODE}(%r8)
        je      .L\name\()_twice
.L\name\()_push:
        CLAIM_CLOCKLESS .L\name\()_clockless_lost, .L\name\()_clockless_claimed
        RESTORE
        ret
.L\name\()_lost:
        CLAIM_AGAIN .L\name\()_claimed
.L\name\()_aside_lost:
        CLAIM_AGAIN .L\name\()_aside_claimed
.L\name\()_clockless_lost:
        mov     %rcx, {FRAME_BASE}(%rsi)
        CLAIM_AGAIN .L\name\()_clockless_claimed
.L\name\()_miss:
        MISS    .L\name\()_hit, .L\name\()_slow
.L\name\()_aside_miss:
        NOTE_REGION {ID}
        MISS    .L\name\()_aside_hit, .L\name\()_slow
.L\name\()_over:
        addw    $1, {LEFT}(%r8)
.L\name\()_aside_slow:
        NOTE_REGION {ID}
.L\name\()_slow:
        SLOW    0, \token
        test    %eax, %eax
        jnz     .L\name\()_done
        AGAIN   {ID}
        jmp     .L\name\()_aside
.L\name\()_twice:
        lea     -128(%rsp), %rsp
        .cfi_adjust_cfa_offset 128
        call    tare_again_enter_stub
        test    $0, %eax
        call    tare_again_exit_stub
        test    $0, %eax
        lea     128(%rsp), %rsp
        .cfi_adjust_cfa_offset -128
        jmp     .L\name\()_push
        .cfi_endproc
        .size   \name, .-\name
        .endm

        ENTER tare_probe_enter, 8
        ENTER tare_probe_enter_region, {REGION_TOKEN}

        .globl  tare_probe_enter_leaf
        .hidden tare_probe_enter_leaf
        .type   tare_probe_enter_leaf, @function
        .balign 64
tare_probe_enter_leaf:
        .cfi_startproc
        endbr64
        SAVE
        STATE
        cmpl    $0, %fs:{ASIDE}(%rdi)
        jne     .Lleaf_aside
        mov     (%rsp), %rcx
        mov     %eax, %r8d
        CLOCK
        add     {LEAF_ID}(%rcx), %r8d
        mov     %r8, -88(%rsp)
        LOOKUP  .Lleaf_miss, .Lleaf_hit, .Lleaf_slow
        UNTIL   .Lleaf_slow
        CLAIM   .Lleaf_lost, .Lleaf_claimed
        COUNT
.Lleaf_done:
        RESTORE
        clc
        ret
.Lleaf_aside:
        REGION  {LEAF_ID}
        LOOKUP  .Lleaf_aside_miss, .Lleaf_aside_hit, .Lleaf_aside_slow
        cmpb    $0, {MODE}(%r8)
        jne     .Lleaf_off
        UNTIL   .Lleaf_aside_slow
        testb   $1, {FRAME_SP}(%rsi)
        jz      1f
        mov     {FRAME_BASE}(%rsi), %rcx
1:      CLAIM   .Lleaf_aside_lost, .Lleaf_aside_claimed
        CLOCK
        COUNT
        RESTORE
        clc
        ret
.Lleaf_off:
        COUNT_ASIDE .Lleaf_over
        cmpb    ${OFF_TWICE}, {MODE}(%r8)
        je      .Lleaf_twice
.Lleaf_counted:
        RESTORE
        stc
        ret
.Lleaf_lost:
        CLAIM_AGAIN .Lleaf_claimed
.Lleaf_aside_lost:
        CLAIM_AGAIN .Lleaf_aside_claimed
.Lleaf_miss:
        MISS    .Lleaf_hit, .Lleaf_slow
.Lleaf_aside_miss:
        NOTE_REGION {LEAF_ID}
        MISS    .Lleaf_aside_hit, .Lleaf_slow
.Lleaf_over:
        addw    $1, {LEFT}(%r8)
.Lleaf_aside_slow:
        NOTE_REGION {LEAF_ID}
.Lleaf_slow:
        SLOW    1
        test    %eax, %eax
        jnz     .Lleaf_done
        AGAIN   {LEAF_ID}
        jmp     .Lleaf_aside
.Lleaf_twice:
        lea     -128(%rsp), %rsp
        .cfi_adjust_cfa_offset 128
        call    tare_again_leaf_stub
        .byte   0x0f, 0x82, 0, 0, 0, 0
        test    $0, %eax
        lea     128(%rsp), %rsp
        .cfi_adjust_cfa_offset -128
        jmp     .Lleaf_counted
        .cfi_endproc
        .size   tare_probe_enter_leaf, .-tare_probe_enter_leaf

# What a call that is off or clockless does, once more: sites of region 0, which stands for the real one (`aside.rs`),
# through the stubs that an image has.
        .type   tare_again_leaf_stub, @function
        .balign 16
tare_again_leaf_stub:
        .cfi_startproc
        cmpq    $0, tare_again_leaf(%rip)
        je      1f
        mov     %rax, -16(%rsp)
        mov     tare_again_base(%rip), %eax
        jmp     *tare_again_leaf(%rip)
1:      ret
        .size   tare_again_leaf_stub, .-tare_again_leaf_stub
        .type   tare_again_enter_stub, @function
        .balign 16
tare_again_enter_stub:
        cmpq    $0, tare_calibration_enter(%rip)
        je      1b
        mov     %rax, -16(%rsp)
        mov     tare_again_base(%rip), %eax
        jmp     *tare_calibration_enter(%rip)
        .size   tare_again_enter_stub, .-tare_again_enter_stub
        .type   tare_again_exit_stub, @function
        .balign 16
tare_again_exit_stub:
        cmpq    $0, tare_calibration_exit(%rip)
        je      1b
        mov     %rax, -16(%rsp)
        mov     tare_again_base(%rip), %eax
        jmp     *tare_calibration_exit(%rip)
        .cfi_endproc
        .size   tare_again_exit_stub, .-tare_again_exit_stub

        .macro  EXIT name, token
        .globl  \name
        .hidden \name
        .type   \name, @function
        .balign 64
\name:
        .cfi_startproc
        endbr64
# The loads that lead to the node come before the clock, whose own time hides them.
        mov     %rdi, -48(%rsp)
        mov     tare_thread_state@gottpoff(%rip), %rdi
        mov     %rsi, -40(%rsp)
        mov     %fs:{FRAME}(%rdi), %rsi
        mov     %rdx, -32(%rsp)
        lea     \token(%rsp), %rdx
        cmp     %rdx, {FRAME_SP}(%rsi)
        jne     .L\name\()_other
        mov     %rcx, -24(%rsp)
        mov     {FRAME_NODE}(%rsi), %rcx
        CLOCK
        mov     %rax, %rdx
        sub     %fs:{LAST}(%rdi), %rdx
        add     %rdx, {EXCLUSIVE}(%rcx)
        add     %rdx, %fs:{LAST}(%rdi)
        sub     {FRAME_BASE}(%rsi), %rax
        mov     %rax, {INCLUSIVE}(%rcx)
        mov     -24(%rsp), %rcx
.L\name\()_pop:
        sub     $32, %rsi
        mov     %rsi, %fs:{FRAME}(%rdi)
.L\name\()_done:
        mov     -16(%rsp), %rax
        mov     -32(%rsp), %rdx
        mov     -40(%rsp), %rsi
        mov     -48(%rsp), %rdi
        ret
.L\name\()_other:
        sub     $1, %rdx
        cmp     %rdx, {FRAME_SP}(%rsi)
        je      .L\name\()_pop
        mov     (%rsp), %rdx
        add     {ID}(%rdx), %eax
        mov     %rcx, -24(%rsp)
        mov     %r8, -56(%rsp)
        mov     %rax, -88(%rsp)
        SLOW    2, \token
        mov     -56(%rsp), %r8
        mov     -24(%rsp), %rcx
        jmp     .L\name\()_done
        .cfi_endproc
        .size   \name, .-\name
        .endm

        EXIT tare_probe_exit, 8
        EXIT tare_probe_exit_region, {REGION_TOKEN}

# What the probes of images lead to while nothing is recorded: the body runs with probes that do the same.
        .globl  tare_probe_nothing
        .hidden tare_probe_nothing
        .type   tare_probe_nothing, @function
        .balign 16
tare_probe_nothing:
        .cfi_startproc
        endbr64
        mov     -16(%rsp), %rax
        clc
        ret
        .cfi_endproc
        .size   tare_probe_nothing, .-tare_probe_nothing

# Sets the signals that are held back to those at rsi, and notes at rdx those that were, unless it is null. Only rax, rcx, rdi, r10 and
# r11 are lost.
        .macro  SIGNALS
        mov     ${SET_MASK}, %edi
        mov     $8, %r10d
        mov     ${SIGPROCMASK}, %eax
        syscall
        .endm

# Into Rust, on the thread's own stack for that, so that the program's needs room for a few words alone, with all signals held back, since
# for the kernel a thread that is there is not on its signal stack: r9d kind (0 enter, 1 enter_leaf, 2 exit), plus the token less 8; region id in the caller's word at -88, which
# is above the stack pointer here, beyond the red zone that the caller has left. Leaves the answer in r9d. The stack pointer for
# the frame is in r8.
        .globl  tare_slow_entry_door
        .hidden tare_slow_entry_door
        .type   tare_slow_entry_door, @function
        .balign 16
tare_slow_entry_door:
        .cfi_startproc
        lfence
        rdtsc
        lfence
        shl     $32, %rdx
        or      %rdx, %rax
        mov     48(%rsp), %rsi
        mov     tare_thread_state@gottpoff(%rip), %rdi
        add     %fs:0, %rdi
        TO_RUST
        push    %rax
        push    %rdi
        push    %rsi
        pushq   $0
        pushq   $0
# The thread's own stack for slow paths, if it has one by now and is not on it already.
        cmpq    $0, {SLOW_STACK}(%rdi)
        jne     1f
# Where the program's stack has no room for what follows, its handler gets to know that here, where it may leave by `siglongjmp`:
# nothing is half done, and no signal is held back.
        lea     -{SAVE_AREA}-{ROOM}(%rsp), %rsp
        cmpb    $0, (%rsp)
        lea     -40(%rbp), %rsp
1:      lea     tare_all_signals(%rip), %rsi
        lea     -32(%rbp), %rdx
        SIGNALS
        mov     -16(%rbp), %rdi
        mov     {SLOW_STACK}(%rdi), %rcx
        test    %rcx, %rcx
        jz      2f
        mov     %rcx, -40(%rbp)
        movq    $0, {SLOW_STACK}(%rdi)
        mov     %rcx, %rsp
2:      sub     ${SAVE_AREA}, %rsp
        and     $-64, %rsp
        mov     tare_xsave_mask(%rip), %eax
        test    %eax, %eax
        jz      3f
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
        jmp     4f
3:      fxsave64 (%rsp)
4:      ldmxcsr tare_mxcsr(%rip)
        mov     -24(%rbp), %rsi
        mov     %r8, %rdx
        mov     -8(%rbp), %rcx
        mov     %r9d, %r8d
        call    {SLOW_PATH}
        mov     %eax, %r9d
        mov     tare_xsave_mask(%rip), %eax
        test    %eax, %eax
        jz      5f
        xor     %edx, %edx
        xrstor64 (%rsp)
        jmp     6f
5:      fxrstor64 (%rsp)
6:      lea     -40(%rbp), %rsp
        mov     -40(%rbp), %rcx
        test    %rcx, %rcx
        jz      7f
        mov     -16(%rbp), %rdi
        mov     %rcx, {SLOW_STACK}(%rdi)
7:      lea     -32(%rbp), %rsi
        xor     %edx, %edx
        SIGNALS
        FROM_RUST
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

        .purgem ENTER
        .purgem EXIT
        .purgem SAVE
        .purgem RESTORE
        .purgem SAVE_MORE
        .purgem RESTORE_MORE
        .purgem LEAVE_RED_ZONE
        .purgem REJOIN_RED_ZONE
        .purgem TO_RUST
        .purgem FROM_RUST
        .purgem SIGNALS
        .purgem SLOW
        .purgem CLOCK
        .purgem LOOKUP
        .purgem STATE
        .purgem MISS
        .purgem CLAIM
        .purgem PUSH_FRAME
        .purgem CLAIM_AGAIN
        .purgem NOTE_REGION
        .purgem AGAIN
        .purgem CLAIM_CLOCKLESS
        .purgem REGION
        .purgem UNTIL
        .purgem COUNT_ASIDE
        .purgem COUNT
