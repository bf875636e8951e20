# What makes a program an instrumented image: note, description, slots, stubs.
        .section .note.tareweight,"a",@note
        .balign 4
        .long   11, 48, 0x54415245
        .ascii  "Tareweight\0"
        .balign 4
descriptor:
        .long   3, REGIONS
        .quad   description - descriptor
        .quad   description_end - description
        .quad   slots - descriptor
        .fill   16, 1, 0xab

        .section .rodata
        .balign 8
description:
        .incbin "regions.bin"
description_end:

# The stubs refer to the slots in front of them, so both stand in one section.
        .section .tareweight,"awx",@progbits
        .balign 64
slots:  .incbin "stubs.bin"

        .macro  STUB name, start
        .globl  \name
        .set    \name, slots+\start
        .endm

        STUB    tare_stub_enter, AT_ENTER
        STUB    tare_stub_leaf, AT_LEAF
        STUB    tare_stub_exit, AT_EXIT
        STUB    tare_stub_enter_region, AT_ENTER_REGION
        STUB    tare_stub_exit_region, AT_EXIT_REGION
        .section .note.GNU-stack,"",@progbits
