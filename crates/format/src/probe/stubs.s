# The stubs of an image, which its sites call, behind its slots. See probe.rs for what they find and must leave, and
# crates/runtime/src/probe/routines.s for what the quiet paths here have in common with those there, and why it is right.
#
# A stub does what is quiet itself, since a jump to the runtime and the way back take as long as all of that. Where there is more to do
# it leaves the call to the routine, which begins from the start. Until a call is counted or a frame left nothing has been written that
# another path reads.
#
# Registers: r9 offset of the thread state from the thread pointer, r10 current frame, r11 region id and then the node that time goes to,
# rax scratch and then the node looked for. The words that they are saved in are those of the routines.
#
# What is always taken fits into three lines of 64 bytes, of a leaf that opens no frame into two, and at an exit into one: each takes
# a cycle. Between them stand instructions of one byte, so that who reads them in a row meets each stub at its start.

        .macro  TARE_ENTER_STUB name, slots, slot, id, quiet, twice, kind
        .balign 64, 0xcc
\name:
        cmpq    $0, \slots+\slot(%rip)
        je      3f
        mov     %r11, -16(%rsp)
        mov     \slots+{ID_BASE}(%rip), %r11d
        mov     %r9, -48(%rsp)
        mov     \slots+{STATE}(%rip), %r9
        mov     %r10, -40(%rsp)
        cmpl    $0, %fs:{ASIDE}(%r9)
        je      8f
        mov     %rax, -24(%rsp)
        mov     (%rsp), %rax
        add     \id(%rax), %r11d
        mov     %fs:{FRAME}(%r9), %r10
        cmp     %rsp, {FRAME_SP}(%r10)
        jbe     7f
        .ifeq   \kind
        cmp     %fs:{LIMIT}(%r9), %r10
        jae     7f
        .endif
        mov     %fs:{CACHE}(%r9), %rax
        mov     (%rax,%r11,8), %rax
        cmp     %eax, {FRAME_NODE}(%r10)
        jne     7f
        shr     $32, %rax
        add     %fs:{HIGH}(%r9), %rax
        cmpb    $\quiet, {MODE}(%rax)
        jne     2f
0:      subw    $1, {LEFT}(%rax)
        js      6f
        .ifeq   \kind
        mov     {FRAME_NODE}(%r10), %r11
        testb   $1, {FRAME_SP}(%r10)
        jnz     1f
        mov     {FRAME_BASE}(%r10), %r11
1:      mov     %rsp, 32+{FRAME_SP}(%r10)
        mov     %r11, 32+{FRAME_BASE}(%r10)
        mov     %rax, 32+{FRAME_NODE}(%r10)
        add     $32, %r10
        mov     %r10, %fs:{FRAME}(%r9)
        cmp     %rsp, {FRAME_SP}(%r10)
        jne     5f
        .endif
4:      mov     -16(%rsp), %r11
        mov     -24(%rsp), %rax
        mov     -40(%rsp), %r10
        mov     -48(%rsp), %r9
        .if     \kind
        stc
        .endif
3:      ret
        .ifeq   \kind
5:      mov     %r11, {FRAME_BASE}(%r10)
        mov     %rax, {FRAME_NODE}(%r10)
        mov     %rsp, {FRAME_SP}(%r10)
        jmp     4b
        .endif
# What has been done so far is done once more, by a call, as it was by one, and what opening a frame and leaving it at an exit do. Its count takes
# nothing down, the frame stays as it is, and only the node is kept from it. The stack pointer steps over the words that registers are saved in:
# a call would write over them.
2:      cmpb    $\twice, {MODE}(%rax)
        jne     7f
        lea     -128(%rsp), %rsp
        call    9f
        lea     128(%rsp), %rsp
        jmp     0b
9:      cmpq    $0, \slots+\slot(%rip)
        je      3b
        mov     %rax, 64(%rsp)
        mov     %r11, -80(%rsp)
        mov     \slots+{ID_BASE}(%rip), %r11d
        mov     %r9, -80(%rsp)
        mov     \slots+{STATE}(%rip), %r9
        mov     %r10, -80(%rsp)
        cmpl    $0, %fs:{ASIDE}(%r9)
        je      5f
        mov     136(%rsp), %rax
        add     \id(%rax), %r11d
        mov     %fs:{FRAME}(%r9), %r10
        cmp     %rsp, {FRAME_SP}(%r10)
        jbe     5f
        mov     %fs:{CACHE}(%r9), %rax
        mov     (%rax,%r11,8), %rax
        cmp     %eax, {FRAME_NODE}(%r10)
        jne     5f
        shr     $32, %rax
        add     %fs:{HIGH}(%r9), %rax
        cmpb    $\twice, {MODE}(%rax)
        jne     5f
        subw    $0, {LEFT}(%rax)
        js      5f
        .ifeq   \kind
        mov     {FRAME_NODE}(%r10), %r11
        testb   $1, {FRAME_SP}(%r10)
        jnz     10f
        mov     {FRAME_BASE}(%r10), %r11
10:     mov     %rsp, -80(%rsp)
        mov     %r11, -80(%rsp)
        mov     %rax, -80(%rsp)
        mov     %r10, %fs:{FRAME}(%r9)
        cmp     %rsp, {FRAME_SP}(%r10)
        mov     -80(%rsp), %r11
        mov     -80(%rsp), %r11
        call    11f
        .endif
        mov     -80(%rsp), %r11
5:      mov     -80(%rsp), %r11
        mov     -80(%rsp), %r11
        mov     64(%rsp), %rax
        ret
        .ifeq   \kind
11:     cmpq    $0, \slots+\slot(%rip)
        je      3b
        mov     %r9, -72(%rsp)
        mov     \slots+{STATE}(%rip), %r9
        mov     %r10, -72(%rsp)
        mov     %fs:{FRAME}(%r9), %r10
        cmp     %rsp, {FRAME_SP}(%r10)
        mov     %r10, %fs:{FRAME}(%r9)
        mov     -72(%rsp), %r11
        mov     -72(%rsp), %r11
        ret
        .endif
6:      addw    $1, {LEFT}(%rax)
7:      mov     -24(%rsp), %rax
        mov     \slots+{ID_BASE}(%rip), %r11d
8:      jmp     *\slots+\slot(%rip)
        .endm

        .macro  TARE_EXIT_STUB name, slots, slot
        .balign 64, 0xcc
\name:
        cmpq    $0, \slots+\slot(%rip)
        je      9f
        mov     %r9, -48(%rsp)
        mov     \slots+{STATE}(%rip), %r9
        mov     %r10, -40(%rsp)
        mov     %fs:{FRAME}(%r9), %r10
        cmp     %rsp, {FRAME_SP}(%r10)
        jne     8f
        sub     $32, %r10
        mov     %r10, %fs:{FRAME}(%r9)
        mov     -40(%rsp), %r10
        mov     -48(%rsp), %r9
9:      ret
8:      mov     %r11, -16(%rsp)
        mov     \slots+{ID_BASE}(%rip), %r11d
        jmp     *\slots+\slot(%rip)
        .endm

# Of regions inside of a body.
        .macro  TARE_REGION_STUB name, slots, slot
        .balign 64, 0xcc
\name:
        cmpq    $0, \slots+\slot(%rip)
        je      9f
        mov     %r11, -16(%rsp)
        mov     \slots+{ID_BASE}(%rip), %r11d
        mov     %r9, -48(%rsp)
        mov     \slots+{STATE}(%rip), %r9
        mov     %r10, -40(%rsp)
        jmp     *\slots+\slot(%rip)
9:      ret
        .endm
