# What makes a program an instrumented image: note, description, slots, stubs.
        .section .note.tareweight,"a",@note
        .balign 4
        .long   11, 48, 0x54415245
        .ascii  "Tareweight\0"
        .balign 4
descriptor:
        .long   2, REGIONS
        .quad   description - descriptor
        .quad   description_end - description
        .quad   slots - descriptor
        .fill   16, 1, 0xab

        .section .rodata
        .balign 8
description:
        .incbin "regions.bin"
description_end:

        .data
        .balign 64
slots:  .quad   0, 0, 0, 0, 0, 0, 0, 0

        .macro  STUB name, slot
        .globl  \name
        .balign 16
\name:  cmpq    $0, slots+\slot(%rip)
        je      1f
        mov     %rax, -16(%rsp)
        mov     slots+24(%rip), %eax
        jmp     *slots+\slot(%rip)
1:      ret
        .endm

        .text
        STUB    tare_stub_enter, 0
        STUB    tare_stub_leaf, 8
        STUB    tare_stub_exit, 16
        STUB    tare_stub_enter_region, 32
        STUB    tare_stub_exit_region, 40
        .section .note.GNU-stack,"",@progbits
