/* What loaders, kernels and hand-written code do with functions: each line that is printed is known beforehand. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone, noipa))

/* An indirect function: the loader asks which one it is. */
static int first(int x) { return x + 1; }
static int second(int x) { return x + 2; }
static int (*choose(void))(int) { __builtin_cpu_init(); return __builtin_cpu_supports("sse2") ? second : first; }
int chosen(int) __attribute__((ifunc("choose")));

/* Versions of one symbol. */
int versioned_old(int x) { return x * 10; }
int versioned_new(int x) { return x * 20; }
#ifdef VERSIONS
__asm__(".symver versioned_old, versioned@OLD\n.symver versioned_new, versioned@@NEW\n");
int versioned(int);
#else
#define versioned versioned_new
#endif

/* Shared tails, a call by `push` and `ret`, a loop of `loop`, a jump back over the entry, and no frame information. */
int by_hand(int), by_hand_too(int), without_frames(int);
__asm__(".text\n.type by_hand, @function\nby_hand:\n.cfi_startproc\nlea 3(%rdi), %eax\njmp .Ltail\n.cfi_endproc\n.size by_hand, .-by_hand\n"
        ".type by_hand_too, @function\nby_hand_too:\n.cfi_startproc\nlea 5(%rdi), %eax\n.Ltail:\nmov $3, %ecx\n1: add %eax, %eax\nloop 1b\n"
        "cmp $100, %eax\njg by_hand_end\nret\n.cfi_endproc\n.size by_hand_too, .-by_hand_too\n"
        ".type by_hand_end, @function\nby_hand_end:\n.cfi_startproc\nsub $100, %eax\nret\n.cfi_endproc\n.size by_hand_end, .-by_hand_end\n"
        ".type without_frames, @function\nwithout_frames:\npush %rbx\nmov %edi, %ebx\nlea (%rbx,%rbx), %eax\npop %rbx\nret\n"
        ".size without_frames, .-without_frames\n");

/* Calls of the own middle: a subroutine that is fallen into at last, and a call over data, whose address is what the call left. */
int four_times(int), next_letter(int);
__asm__(".type four_times, @function\n.p2align 4\nfour_times:\nmov %edi, %eax\ncall 1f\ncall 1f\ncall 1f\n1: push %rbp\nmov %rsp, %rbp\nlea 2(%rax,%rax), %eax\n"
        "pop %rbp\nret\n.size four_times, .-four_times\n"
        ".type next_letter, @function\n.p2align 4\nnext_letter:\n.cfi_startproc\ncall 1f\n.ascii \"PQRS\"\n1: pop %rdx\n"
        "movzbl (%rdx,%rdi), %eax\nret\n.cfi_endproc\n.size next_letter, .-next_letter\n");

/* A switch of which one way reads the first entry of the table where it stands, as compilers do where they know the value. */
int folded(int);
__asm__(".type folded, @function\n.p2align 4\nfolded:\n.cfi_startproc\nlea .Lfolded(%rip), %rsi\ntest %edi, %edi\njns 1f\n"
        "movslq .Lfolded(%rip), %rax\nadd %rsi, %rax\njmp *%rax\n1: cmp $1, %edi\nja 4f\nmov %edi, %edi\nmovslq (%rsi,%rdi,4), %rax\n"
        "add %rsi, %rax\njmp *%rax\n2: mov $21, %eax\nret\n3: mov $22, %eax\nret\n4: mov $23, %eax\nret\n.cfi_endproc\n"
        ".size folded, .-folded\n.section .rodata\n.p2align 2\n.Lfolded: .long 2b-.Lfolded, 3b-.Lfolded\n.text\n");

/* A stack that runs over is seen on another one. */
static sigjmp_buf place;
static volatile int seen;
APART static void handler(int number) { seen += number; if (number == SIGSEGV) siglongjmp(place, 1); }
APART static int deep(int n) { volatile char room[4096]; room[n % 4096] = (char)n; return n < 0 ? 0 : deep(n + 1) + room[n % 4096]; }

APART static int overflow(void)
{
    static char other[1 << 16];
    stack_t stack = {.ss_sp = other, .ss_size = sizeof other};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    if (!sigsetjmp(place, 1)) return deep(1);
    return seen;
}

APART static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

APART static int child(const char *self)
{
    int status = 0;
    fflush(stdout);
    if (fork() == 0) {
        execl(self, self, "again", (char *)NULL);
        _exit(1);
    }
    wait(&status);
    return WEXITSTATUS(status);
}

int main(int count, char **words)
{
    int numbers[] = {5, 3, 9, 1};
    if (count > 1) return 40 + by_hand(1) % 7;
    printf("%d %d %d\n", chosen(1), versioned(1), versioned_old(1));
    printf("%d %d %d %d\n", by_hand(4), by_hand_too(9), by_hand(50), without_frames(8));
    printf("%d %d %d %d\n", folded(-1), folded(0), folded(1), folded(2));
    printf("%d %c\n", four_times(1), next_letter(2));
    printf("%d\n", overflow() == SIGUSR1 + SIGSEGV);
    void *library = dlopen("libm.so.6", RTLD_NOW);
    double (*cosine)(double) = library ? (double (*)(double))dlsym(library, "cos") : NULL;
    printf("%.3f\n", cosine ? cosine(1) : 0);
    qsort(numbers, 4, sizeof *numbers, compare);
    printf("%d %d %s\n", numbers[0], numbers[3], memchr("abc", 'b', 3) ? "found" : "lost");
    printf("%d\n", child(words[0]));
    return 7;
}
