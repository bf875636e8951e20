/* Regions as the rewriter makes them: REGION(name, number) defines `name`, which measures `name_body`. */
#define TARE_STRING_(x) #x
#define TARE_STRING(x) TARE_STRING_(x)

#define REGION(name, number)                                                                        \
    __asm__(".text\n.balign 16\n.globl " #name "\n" #name ":\n"                                      \
            "call tare_stub_enter\n.byte 0xa9\n.long " TARE_STRING(number) "\n"                      \
            "sub $8, %rsp\ncall " #name "_body\nadd $8, %rsp\n"                                      \
            "call tare_stub_exit\n.byte 0xa9\n.long " TARE_STRING(number) "\nret\n")

/* The same with a probe-free copy for calls that are off. */
#define LEAF(name, number)                                                                          \
    __asm__(".text\n.balign 16\n.globl " #name "\n" #name ":\n"                                      \
            "call tare_stub_leaf\n.byte 0x0f, 0x82\n.long 1f - . - 4\n.byte 0xa9\n.long "            \
            TARE_STRING(number) "\nsub $8, %rsp\ncall " #name "_body\nadd $8, %rsp\n"                \
            "call tare_stub_exit\n.byte 0xa9\n.long " TARE_STRING(number) "\nret\n"                  \
            "1: jmp " #name "_body\n")
