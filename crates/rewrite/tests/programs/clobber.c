// Hooks that change all that a function may change, and count; built with -DDEPTH, they look at the frames below them; built
// with -DSMALL, they use general registers only.
#include <errno.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define HOOK __attribute__((no_instrument_function))

static atomic_long entered, left, deepest;

#ifdef DEPTH
HOOK static void disturb(void) {
    void *frames[256];
    long depth = backtrace(frames, 256);
    if (depth > deepest) deepest = depth;
}
#elif defined SMALL
HOOK static void disturb(void) {
    __asm__ volatile("mov $-1, %%rax\n mov %%rax, %%rcx\n mov %%rax, %%rdx\n mov %%rax, %%rsi\n mov %%rax, %%rdi\n"
                     "mov %%rax, %%r8\n mov %%rax, %%r9\n mov %%rax, %%r10\n mov %%rax, %%r11\n" ::
                         : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory");
}
#else
HOOK static void disturb(void) {
    __asm__ volatile("fld1\n fldpi\n fdivp\n fstp %%st(0)\n"
                     ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n pcmpeqd %%xmm\\n, %%xmm\\n\n .endr\n"
                     "mov $3, %%eax\n cvtsi2sd %%eax, %%xmm0\n sqrtsd %%xmm0, %%xmm0\n"
                     "mov $-1, %%rax\n mov %%rax, %%rcx\n mov %%rax, %%rdx\n mov %%rax, %%rsi\n mov %%rax, %%rdi\n"
                     "mov %%rax, %%r8\n mov %%rax, %%r9\n mov %%rax, %%r10\n mov %%rax, %%r11\n" ::
                         : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
                           "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory");
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
        __asm__ volatile(".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
                         "vpternlogd $255, %zmm\\n, %zmm\\n, %zmm\\n\n .endr\n"
                         ".irp n,0,1,2,3,4,5,6,7\n kxnorq %k\\n, %k\\n, %k\\n\n .endr\n");
    errno = 77;
}
#endif

HOOK void __cyg_profile_func_enter(void *function, void *caller) {
    (void)function, (void)caller;
    entered++;
    disturb();
}

HOOK void __cyg_profile_func_exit(void *function, void *caller) {
    (void)function, (void)caller;
    left++;
    disturb();
}

HOOK __attribute__((destructor)) static void finish(void) {
    FILE *file = getenv("SEEN") ? fopen(getenv("SEEN"), "w") : NULL;
    if (!file) return;
    fprintf(file, "%ld %ld %ld\n", entered, left, deepest);
    fclose(file);
}
