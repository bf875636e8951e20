/* A runtime that counts: fills the slots of every instrumented image with routines that count entries and exits
   by region, sends every other entry of a leaf to its clean copy, and writes the counts at the end. */
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A compiler has 600,000 with its loops and calls; pages that are not counted in take no memory. */
#define REGIONS (1 << 21)
__attribute__((visibility("hidden"))) uint64_t count_entries[REGIONS], count_leaves[REGIONS], count_exits[REGIONS];

struct slots { void *enter, *enter_leaf, *exit; uint32_t id_base, reserved; void *enter_region, *exit_region; int64_t state; };
struct note { uint32_t version, regions; int64_t description; uint64_t length; int64_t slots; uint8_t identity[16]; };

/* What stubs take for the thread's state: no node is quiet, and of the innermost frame the stack pointer is nobody's. */
static uint64_t no_frame[4];
static __thread __attribute__((tls_model("initial-exec"), aligned(64))) struct { uint64_t *frame, others[7]; } state = {no_frame, {0}};

/* The region is r11; that, r10 and r9 are saved at -16, -40 and -48(%rsp), other values below. */
#define ROUTINE(NAME, AT, BODY)                                                                              \
    __asm__(".text\n.type " #NAME ",@function\n" #NAME ":\n.cfi_startproc\n"                                  \
            "lea -48(%rsp), %rsp\n.cfi_adjust_cfa_offset 48\n"                                                \
            "push %rcx\n.cfi_adjust_cfa_offset 8\n"                                                           \
            "push %rdx\n.cfi_adjust_cfa_offset 8\n"                                                           \
            "mov 64(%rsp), %rcx\nadd " #AT "(%rcx), %r11d\n" BODY                                             \
            "pop %rdx\n.cfi_adjust_cfa_offset -8\n"                                                           \
            "pop %rcx\n.cfi_adjust_cfa_offset -8\n"                                                           \
            "lea 48(%rsp), %rsp\n.cfi_adjust_cfa_offset -48\n"                                                \
            "mov -16(%rsp), %r11\nmov -40(%rsp), %r10\nmov -48(%rsp), %r9\nret\n.cfi_endproc\n.size " #NAME ", .-" #NAME "\n")

ROUTINE(count_enter, 1, "lea count_entries(%rip), %rcx\nlock incq (%rcx,%r11,8)\n");
ROUTINE(count_exit, 1, "lea count_exits(%rip), %rcx\nlock incq (%rcx,%r11,8)\n");
/* Odd calls run with probes and count as entries, even ones in the clean copy. */
ROUTINE(count_enter_leaf, 7,
        "lea count_leaves(%rip), %rcx\nmov $1, %edx\nlock xadd %rdx, (%rcx,%r11,8)\ntest $1, %dl\njnz 1f\n"
        "lea count_entries(%rip), %rcx\nlock incq (%rcx,%r11,8)\nclc\njmp 2f\n1: stc\n2:\n");
void count_enter(void), count_enter_leaf(void), count_exit(void);

static uint32_t regions;

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size, (void)data;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_NOTE) continue;
        char *at = (char *)(info->dlpi_addr + header->p_vaddr), *end = at + header->p_memsz;
        size_t align = header->p_align == 8 ? 8 : 4;
        while (at + 12 <= end) {
            uint32_t *head = (uint32_t *)at;
            char *content = at + ((12 + head[0] + align - 1) & -align);
            if (head[0] == 11 && head[2] == 0x54415245 && memcmp(at + 12, "Tareweight", 11) == 0) {
                struct note *note = (struct note *)content;
                struct slots *slots = (struct slots *)(content + note->slots);
                if (regions + note->regions >= REGIONS) abort();
                uint64_t thread;
                __asm__("mov %%fs:0, %0" : "=r"(thread));
                slots->id_base = regions;
                slots->state = (int64_t)((uint64_t)&state - thread);
                slots->exit_region = (void *)count_exit;
                slots->enter_region = (void *)count_enter;
                slots->exit = (void *)count_exit;
                slots->enter = (void *)count_enter;
                slots->enter_leaf = (void *)count_enter_leaf;
                regions += note->regions + 1;
            }
            at = content + ((head[1] + align - 1) & -align);
        }
    }
    return 0;
}

__attribute__((constructor)) static void begin(void) { dl_iterate_phdr(visit, NULL); }

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("COUNT_FILE"); /* where it ends in a slash: a directory, in which each process has a file */
    char name[4096];
    if (!path || !regions) return; /* helpers of the program have none */
    snprintf(name, sizeof name, path[strlen(path) - 1] == '/' ? "%s%d" : "%s", path, (int)getpid());
    FILE *file = fopen(name, "w");
    if (!file) return;
    for (uint32_t id = 0; id < regions; id++) {
        /* In this order, as other threads may still run: what has been left had been entered. */
        uint64_t exits = __atomic_load_n(&count_exits[id], __ATOMIC_ACQUIRE);
        uint64_t entries = __atomic_load_n(&count_entries[id], __ATOMIC_ACQUIRE), leaves = __atomic_load_n(&count_leaves[id], __ATOMIC_ACQUIRE);
        if (entries || exits || leaves) fprintf(file, "%u %lu %lu %lu\n", id, entries, leaves, exits);
    }
    fclose(file);
}
