# The stubs as an image has them, behind 64 bytes that stand for its slots; and where each begins, counted from there.

        .section .rodata.tare_image_stubs,"a",@progbits
        .balign 64
        .globl  tare_image_slots
        .hidden tare_image_slots
tare_image_slots:
        .zero   64
        TARE_ENTER_STUB tare_image_enter, tare_image_slots, {ENTER}, {ID}, {CLOCKLESS}, {CLOCKLESS_TWICE}, 0
        TARE_ENTER_STUB tare_image_enter_leaf, tare_image_slots, {ENTER_LEAF}, {LEAF_ID}, {OFF}, {OFF_TWICE}, 1
        TARE_EXIT_STUB tare_image_exit, tare_image_slots, {EXIT}
        TARE_REGION_STUB tare_image_enter_region, tare_image_slots, {ENTER_REGION}
        TARE_REGION_STUB tare_image_exit_region, tare_image_slots, {EXIT_REGION}
        .balign 64, 0xcc
tare_image_end:

        .balign 4
        .globl  tare_image_starts
        .hidden tare_image_starts
tare_image_starts:
        .long   tare_image_enter - tare_image_slots
        .long   tare_image_enter_leaf - tare_image_slots
        .long   tare_image_exit - tare_image_slots
        .long   tare_image_enter_region - tare_image_slots
        .long   tare_image_exit_region - tare_image_slots
        .long   tare_image_end - tare_image_slots
        .purgem TARE_ENTER_STUB
        .purgem TARE_EXIT_STUB
        .purgem TARE_REGION_STUB
        .text
