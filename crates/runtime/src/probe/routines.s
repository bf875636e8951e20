# The probe routines. See crates/format/src/probe.rs for what they find and must leave.
#
# Stack pointers in frames are even; one less in a frame whose entry read the clock (local.rs says what else). Where one is,
# counted from the routine's own stack pointer, is `token`: 0 in routines for functions, which compare their own.
#
# What images call most, calls that are only counted and exits of frames without a clock, their stubs do themselves
# (crates/format/src/probe/stubs.s), by the quiet paths that stand here as well, for regions inside of a body and where a path has changed.
#
# Registers where the clock is read: r9 offset of the thread state from the thread pointer, r10 current frame, r8 node of
# that frame (the parent), r11 region id and then the node looked for, rax clock, rdx scratch. On quiet paths: r9 and r10 as there, r11
# region id and then the node that time goes to, rax scratch and then the node looked for; the exit leaves rax alone. Few, because each is
# saved and restored, the rest is saved where a path needs it; and those through which programs pass little, because a word that comes back
# from memory may be late: the arguments and the value of a function stay where they are.
#
# Nodes are 32-bit words in site cache and edges: the low half of their addresses. The high half is the same
# for all nodes of a thread, since an arena is aligned to its size.
#
# Below the stack pointer: -8 free, -16 r11, -40 r10 and -48 r9 (saved by the stub), -24 … -80 the others, -88 the region id.
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

# What the stubs of images take for it where they are to leave everything to the routines: nothing is quiet, no frame is open.
        .balign 64
        .globl  tare_no_state
        .hidden tare_no_state
        .type   tare_no_state, @object
        .size   tare_no_state, 64
tare_no_state:
        .quad   tare_dummy_frame
        .zero   56

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
        mov     tare_thread_state@gottpoff(%rip), %r9
        .endm

# Checks the frame, and that another has room above it. Leaves the frame in r10.
        .macro  CHECK_FRAME slow, token=0
        mov     %fs:{FRAME}(%r9), %r10
        .if     \token
        lea     \token(%rsp), %rdx
        cmp     %rdx, {FRAME_SP}(%r10)
        .else
        cmp     %rsp, {FRAME_SP}(%r10)
        .endif
        jbe     \slow
        cmp     %fs:{LIMIT}(%r9), %r10
        jae     \slow
        .endm

# From r11: checks the frame, finds the node. Leaves r10, r8, and r11. Falls through on a hit. An entry of the site cache is one
# word, so that a handler that changes it cannot come between its halves.
        .macro  LOOKUP miss, hit, slow, token=0
        CHECK_FRAME \slow, \token
        mov     %fs:{CACHE}(%r9), %r8
        mov     (%r8,%r11,8), %r11
        mov     {FRAME_NODE}(%r10), %r8
        cmp     %r11d, %r8d
        jne     \miss
        shr     $32, %r11
        add     %fs:{HIGH}(%r9), %r11
\hit:
        .endm

# The same on a quiet path: from r11, which stays. Leaves the node in rax.
        .macro  LOOKUP_QUIET miss, hit, slow, token=0
        CHECK_FRAME \slow, \token
        mov     %fs:{CACHE}(%r9), %rax
        mov     (%rax,%r11,8), %rax
        cmp     %eax, {FRAME_NODE}(%r10)
        jne     \miss
        shr     $32, %rax
        add     %fs:{HIGH}(%r9), %rax
\hit:
        .endm

# The site cache knows another parent: see where the parent led last, then look into the table of edges, and tell
# both. What a parent remembers is one word as well.
        .macro  MISS hit, slow
        mov     {LAST_CHILD}(%r8), %r11
        cmp     %r11d, -88(%rsp)
        jne     4f
        shr     $32, %r11
        add     %fs:{HIGH}(%r9), %r11
        jmp     \hit
4:      SAVE_MORE
        mov     -88(%rsp), %r11
        mov     %r8, %rdi
        shl     $32, %rdi
        or      %r11, %rdi
        mov     %fs:{EDGES}(%r9), %rcx
        movabs  $0x9e3779b97f4a7c15, %rsi
        imul    %rdi, %rsi
        shr     $28, %rsi
1:      and     (%rcx), %rsi
        cmp     %rdi, {EDGE_TABLE}(%rcx,%rsi)
        je      2f
        cmpq    $0, {EDGE_TABLE}(%rcx,%rsi)
        je      3f
        add     $16, %rsi
        jmp     1b
2:      mov     {EDGE_TABLE}+8(%rcx,%rsi), %rsi
        mov     %rsi, %rdi
        shl     $32, %rdi
        mov     %r8d, %ecx
        or      %rcx, %rdi
        mov     %fs:{CACHE}(%r9), %rcx
        mov     %rdi, (%rcx,%r11,8)
        mov     %rsi, %rdi
        shl     $32, %rdi
        or      %r11, %rdi
        mov     %rdi, {LAST_CHILD}(%r8)
        mov     %rsi, %r11
        add     %fs:{HIGH}(%r9), %r11
        RESTORE_MORE
        jmp     \hit
3:      RESTORE_MORE
        jmp     \slow
        .endm

# A frame is claimed before anything is counted in it: stack pointer and node, then the frame pointer. A handler that
# comes before that uses the frame for itself and leaves a stack pointer of its own there: then both are written once more.
        .macro  CLAIM lost, claimed, token=0
        lea     \token-1(%rsp), %rdx
        mov     %rdx, 32+{FRAME_SP}(%r10)
        mov     %r11, 32+{FRAME_NODE}(%r10)
        add     $32, %r10
        mov     %r10, %fs:{FRAME}(%r9)
        cmp     %rdx, {FRAME_SP}(%r10)
        jne     \lost
\claimed:
        .endm

        .macro  CLAIM_AGAIN claimed
        mov     %r11, {FRAME_NODE}(%r10)
        mov     %rdx, {FRAME_SP}(%r10)
        jmp     \claimed
        .endm

# From the clock in rax. `last` is moved by addition, so that exclusive times always sum up to it.
        .macro  COUNT
        mov     %rax, %rdx
        sub     %fs:{LAST}(%r9), %rdx
        add     %rdx, {EXCLUSIVE}(%r8)
        add     %rdx, %fs:{LAST}(%r9)
        incq    {CALLS}(%r11)
        mov     {COST}(%r11), %rdx
        add     %rdx, %fs:{OVERHEAD}(%r9)
        sub     {INCLUSIVE}(%r11), %rax
        mov     %rax, {FRAME_BASE}(%r10)
        .endm

# The node that time goes to while a frame is the innermost one: its own, or what it names where its entry read no clock.
        .macro  OWNER reg
        mov     {FRAME_NODE}(%r10), \reg
        testb   $1, {FRAME_SP}(%r10)
        jnz     1f
        mov     {FRAME_BASE}(%r10), \reg
1:
        .endm

# A clockless frame: as CLAIM, with a stack pointer that says so, and in place of a base the node that time goes to while
# it is open. Where it is written once more, that stands there before the stack pointer does, since a handler that sees the one
# follows the other.
        .macro  CLAIM_CLOCKLESS at, lost, claimed
        OWNER   %r11
        mov     \at, 32+{FRAME_SP}(%r10)
        mov     %r11, 32+{FRAME_BASE}(%r10)
        mov     %rax, 32+{FRAME_NODE}(%r10)
        add     $32, %r10
        mov     %r10, %fs:{FRAME}(%r9)
        cmp     \at, {FRAME_SP}(%r10)
        jne     \lost
\claimed:
        .endm

        .macro  CLAIM_CLOCKLESS_AGAIN at, claimed
        mov     %r11, {FRAME_BASE}(%r10)
        mov     %rax, {FRAME_NODE}(%r10)
        mov     \at, {FRAME_SP}(%r10)
        jmp     \claimed
        .endm

# Whether the batch under way of a node that is on has had its calls.
        .macro  UNTIL slow
        mov     {CALLS}(%r11), %edx
        sub     {UNTIL}(%r11), %edx
        jns     \slow
        .endm

# Counts a call of a batch that is off or clockless. One that finds none left is taken back, in one instruction each,
# so that a handler between the two changes nothing.
        .macro  COUNT_QUIET over
        subw    $1, {LEFT}(%rax)
        js      \over
        .endm

# From a quiet path to what saves all and knows the region from the word at -88. Where the token is not 0, rdx is saved by then.
        .macro  LEAVE_QUIET token
        .ifeq   \token
        mov     %rdx, -32(%rsp)
        .endif
        mov     %r8, -56(%rsp)
        mov     %r11, -88(%rsp)
        .endm

# Into the slow path; its answer is in eax.
        .macro  SLOW kind, token=0
        SAVE_MORE
        mov     $\kind + \token, %r9d
        lea     \token(%rsp), %r8
        LEAVE_RED_ZONE
        call    tare_slow_entry_door
        REJOIN_RED_ZONE
        mov     %r9d, %eax
        RESTORE_MORE
        .endm

# An entry. `at` is the register that the stack pointer of the region is in: rdx where the routine must find room for it. Where all
# nodes of the thread are on, the clock is read between the two loads that lead to the region id, so that its own time hides them.
        .macro  ENTER name, kind, id, token, at, quiet, twice
        .globl  \name
        .hidden \name
        .type   \name, @function
        .balign 64
\name:
        .cfi_startproc
        endbr64
        SAVE_FEW
        .if     \token
        mov     %rdx, -32(%rsp)
        .endif
        cmpl    $0, %fs:{ASIDE}(%r9)
        jne     .L\name\()_quiet
        SAVE_REST
        mov     (%rsp), %r8
        CLOCK
        add     \id(%r8), %r11d
        mov     %r11, -88(%rsp)
        LOOKUP  .L\name\()_miss, .L\name\()_hit, .L\name\()_slow, \token
        UNTIL   .L\name\()_slow
        CLAIM   .L\name\()_lost, .L\name\()_claimed, \token
        COUNT
.L\name\()_done:
        RESTORE_FEW
        RESTORE_REST
        .if     \kind
        clc
        .endif
        ret
.L\name\()_quiet:
        mov     (%rsp), %rax
        add     \id(%rax), %r11d
.L\name\()_again:
        LOOKUP_QUIET .L\name\()_quiet_miss, .L\name\()_quiet_hit, .L\name\()_quiet_slow, \token
        cmpb    $\quiet, {MODE}(%rax)
        jne     .L\name\()_other
        COUNT_QUIET .L\name\()_over
.L\name\()_counted:
        .if     \kind
        RESTORE_FEW
        stc
        ret
        .else
        CLAIM_CLOCKLESS \at, .L\name\()_clockless_lost, .L\name\()_clockless_claimed
        RESTORE_FEW
        .if     \token
        mov     -32(%rsp), %rdx
        .endif
        ret
        .endif
.L\name\()_other:
        cmpb    $0, {MODE}(%rax)
        jne     .L\name\()_aside
.L\name\()_on:
        LEAVE_QUIET \token
        mov     %rax, %r11
        UNTIL   .L\name\()_slow
        OWNER   %r8
        CLAIM   .L\name\()_late_lost, .L\name\()_late_claimed, \token
        CLOCK
        COUNT
        jmp     .L\name\()_done
# As on, though all that leads here is that of a quiet call: see batch.rs.
.L\name\()_aside:
        cmpb    ${DIVERTED}, {MODE}(%rax)
        je      .L\name\()_on
        COUNT_QUIET .L\name\()_over
        cmpb    $\twice, {MODE}(%rax)
        jne     .L\name\()_counted
        lea     -128(%rsp), %rsp
        .cfi_adjust_cfa_offset 128
        call    .L\name\()_more
        lea     128(%rsp), %rsp
        .cfi_adjust_cfa_offset -128
        jmp     .L\name\()_counted
# What has been done so far is done once more, as the stubs do it; its count takes nothing down. Only the node is kept from it.
.L\name\()_more:
        .cfi_adjust_cfa_offset 136
        mov     %rax, -64(%rsp)
        mov     %r11, -72(%rsp)
        mov     136(%rsp), %r11
        mov     \id(%r11), %r11d
        mov     %fs:{FRAME}(%r9), %rax
        cmp     %rsp, {FRAME_SP}(%rax)
        mov     %fs:{CACHE}(%r9), %rax
        mov     {FRAME_NODE}(%r10), %r11
        add     %fs:{HIGH}(%r9), %r11
        mov     -64(%rsp), %rax
        cmpb    $\twice, {MODE}(%rax)
        subw    $0, {LEFT}(%rax)
        mov     -72(%rsp), %r11
        ret
        .cfi_adjust_cfa_offset -136
.L\name\()_lost:
        CLAIM_AGAIN .L\name\()_claimed
.L\name\()_late_lost:
        CLAIM_AGAIN .L\name\()_late_claimed
        .ifeq   \kind
.L\name\()_clockless_lost:
        CLAIM_CLOCKLESS_AGAIN \at, .L\name\()_clockless_claimed
        .endif
.L\name\()_miss:
        MISS    .L\name\()_hit, .L\name\()_slow
.L\name\()_quiet_miss:
        LEAVE_QUIET \token
        mov     {FRAME_NODE}(%r10), %r8
        MISS    .L\name\()_quiet_found, .L\name\()_slow
.L\name\()_quiet_found:
        mov     %r11, %rax
        mov     -56(%rsp), %r8
        mov     -88(%rsp), %r11
        jmp     .L\name\()_quiet_hit
.L\name\()_over:
        addw    $1, {LEFT}(%rax)
.L\name\()_quiet_slow:
        LEAVE_QUIET \token
.L\name\()_slow:
        SLOW    \kind, \token
        test    %eax, %eax
        jnz     .L\name\()_done
        RESTORE_REST
        STATE
        mov     -88(%rsp), %r11
        jmp     .L\name\()_again
        .cfi_endproc
        .size   \name, .-\name
        .endm

        ENTER tare_probe_enter, 0, {ID}, 0, %rsp, {CLOCKLESS}, {CLOCKLESS_TWICE}
        ENTER tare_probe_enter_region, 0, {ID}, {REGION_TOKEN}, %rdx, {CLOCKLESS}, {CLOCKLESS_TWICE}
        ENTER tare_probe_enter_leaf, 1, {LEAF_ID}, 0, %rsp, {OFF}, {OFF_TWICE}

# An exit. The loads that lead to the node come before the clock, whose own time hides them.
        .macro  EXIT name, token
        .globl  \name
        .hidden \name
        .type   \name, @function
        .balign 64
\name:
        .cfi_startproc
        endbr64
        mov     %rdx, -32(%rsp)
        .if     \token
        mov     %fs:{FRAME}(%r9), %r10
        lea     \token(%rsp), %rdx
        cmp     %rdx, {FRAME_SP}(%r10)
        je      .L\name\()_clockless
        .endif
        lea     \token-1(%rsp), %rdx
        cmp     %rdx, {FRAME_SP}(%r10)
        jne     .L\name\()_other
        mov     %rax, -24(%rsp)
        mov     {FRAME_NODE}(%r10), %r11
        CLOCK
        mov     %rax, %rdx
        sub     %fs:{LAST}(%r9), %rdx
        add     %rdx, {EXCLUSIVE}(%r11)
        add     %rdx, %fs:{LAST}(%r9)
        sub     {FRAME_BASE}(%r10), %rax
        mov     %rax, {INCLUSIVE}(%r11)
        sub     $32, %r10
        mov     %r10, %fs:{FRAME}(%r9)
        RESTORE_FEW
        mov     -32(%rsp), %rdx
        ret
        .if     \token
.L\name\()_clockless:
        sub     $32, %r10
        mov     %r10, %fs:{FRAME}(%r9)
        mov     -16(%rsp), %r11
        mov     -32(%rsp), %rdx
        mov     -40(%rsp), %r10
        mov     -48(%rsp), %r9
        ret
        .endif
.L\name\()_other:
        mov     %rax, -24(%rsp)
        mov     (%rsp), %rdx
        add     {ID}(%rdx), %r11d
        mov     %r8, -56(%rsp)
        mov     %r11, -88(%rsp)
        SLOW    2, \token
        RESTORE_FEW
        RESTORE_REST
        ret
        .cfi_endproc
        .size   \name, .-\name
        .endm

        EXIT tare_probe_exit, 0
        EXIT tare_probe_exit_region, {REGION_TOKEN}

# What the probes of images lead to while nothing is recorded: the body runs with probes that do the same.
        .globl  tare_probe_nothing
        .hidden tare_probe_nothing
        .type   tare_probe_nothing, @function
        .balign 16
tare_probe_nothing:
        .cfi_startproc
        endbr64
        mov     -16(%rsp), %r11
        mov     -40(%rsp), %r10
        mov     -48(%rsp), %r9
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
# for the kernel a thread that is there is not on its signal stack: r9d kind (0 enter, 1 enter_leaf, 2 exit), plus the token; region id in the caller's word at -88, which
# is above the stack pointer here, beyond the red zone that the caller has left. Leaves the answer in r9d. The stack pointer for
# the frame is in r8.
        .globl  tare_slow_entry_door
        .hidden tare_slow_entry_door
        .type   tare_slow_entry_door, @function
        .balign 16
tare_slow_entry_door:
        .cfi_startproc
        mov     tare_thread_state@gottpoff(%rip), %rdi
        cmpq    $0, %fs:{PATIENCE}(%rdi)
        jg      8f
        lfence
        rdtsc
        lfence
        shl     $32, %rdx
        or      %rdx, %rax
        mov     48(%rsp), %rsi
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
        mov     -16(%rbp), %rdi
        rdtsc
        shl     $32, %rdx
        or      %rdx, %rax
        mov     %rax, {WAS_LEFT}(%rdi)
        FROM_RUST
        ret
# There is no memory for the thread: its calls are counted, until that is asked for again.
8:      mov     %r9d, %eax
        and     $3, %eax
        cmp     $2, %eax
        je      9f
        subq    $1, %fs:{PATIENCE}(%rdi)
        mov     {HEADER}(%rip), %rdi
        lock incq {REFUSED_CALLS}(%rdi)
9:      mov     $1, %r9d
        ret
        .cfi_endproc
        .size   tare_slow_entry_door, .-tare_slow_entry_door

        .purgem CLOCK
        .purgem STATE
        .purgem CHECK_FRAME
        .purgem LOOKUP
        .purgem LOOKUP_QUIET
        .purgem MISS
        .purgem CLAIM
        .purgem CLAIM_AGAIN
        .purgem COUNT
        .purgem OWNER
        .purgem CLAIM_CLOCKLESS
        .purgem CLAIM_CLOCKLESS_AGAIN
        .purgem UNTIL
        .purgem COUNT_QUIET
        .purgem LEAVE_QUIET
        .purgem SLOW
        .purgem ENTER
        .purgem EXIT
        .purgem SIGNALS
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
