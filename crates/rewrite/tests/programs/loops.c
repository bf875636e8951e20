/* Loops of every kind, and entries that are no function's start. What is counted is known: see loops.rs. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone, noipa))

APART int simple(int n) { int s = 0; for (int i = 0; i < n; i++) { s += i * i; __asm__ volatile("" : "+r"(s)); } return s; }

APART int nested(int n, int m)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) { s += i ^ j; __asm__ volatile("" : "+r"(s)); }
    return s;
}

APART int leaves_early(const int *a, int n, int wanted)
{
    for (int i = 0; i < n; i++) {
        if (a[i] == wanted) return i;
        if (a[i] < 0) goto out;
        __asm__ volatile("");
    }
    return -1;
out:
    return -2;
}

static jmp_buf place;
APART void jumps_away(int n) { for (int i = 0;; i++) if (i == n) longjmp(place, 1); }

/* The loop's header is the function's entry, and it is left by a conditional tail call. */
int tail(int);
APART int tail(int x) { return x + 1; }
int down(int);
__asm__(".text\n.type down, @function\ndown:\n.cfi_startproc\n"
        "sub $1, %edi\ntest %edi, %edi\njle tail\njmp down\n.cfi_endproc\n.size down, .-down\n");

/* Two entries to one cycle: not reducible. */
int crossed(int, int);
__asm__(".type crossed, @function\ncrossed:\n.cfi_startproc\nxor %eax, %eax\ntest %esi, %esi\njne 2f\n"
        "1: add $1, %eax\n2: add $2, %eax\nsub $1, %edi\njg 1b\nret\n.cfi_endproc\n.size crossed, .-crossed\n");

/* A loop of `loop`, left through the value of flags that were set before its end. */
int counted(int);
__asm__(".type counted, @function\ncounted:\n.cfi_startproc\nmov %edi, %ecx\nxor %eax, %eax\n"
        "1: add $3, %eax\nloop 1b\njrcxz 2f\nud2\n2: ret\n.cfi_endproc\n.size counted, .-counted\n");

/* The flags of the comparison live across the edge into the loop and out of it. */
int flags(int);
__asm__(".type flags, @function\nflags:\n.cfi_startproc\nxor %eax, %eax\nmov %edi, %edx\ncmp $5, %edi\n"
        "1: lea 1(%rax), %eax\nlea -1(%rdx), %edx\njg 3f\nmov %edx, %r8d\nnot %r8d\nbt $31, %r8d\njc 1b\nret\n"
        "3: mov $99, %eax\nret\n.cfi_endproc\n.size flags, .-flags\n");

/* Called at its start and behind it. */
int middle(int), middle_entry(int), calls_middle(int);
__asm__(".type middle, @function\nmiddle:\n.cfi_startproc\nadd $100, %edi\nadd $200, %edi\nnopl 0(%rax)\n.Linside:\nlea 1(%rdi), %eax\nadd $7, %eax\nret\n"
        ".cfi_endproc\n.size middle, .-middle\n"
        ".type calls_middle, @function\ncalls_middle:\n.cfi_startproc\ncall .Linside\nadd $1, %eax\nret\n.cfi_endproc\n.size calls_middle, .-calls_middle\n");

/* A leaf that keeps values below its stack pointer while it loops. */
int red_zone(int);
__asm__(".type red_zone, @function\nred_zone:\n.cfi_startproc\nmovl $0, -8(%rsp)\nmovl %edi, -120(%rsp)\n"
        "1: mov -120(%rsp), %eax\nadd %eax, -8(%rsp)\nsubl $1, -120(%rsp)\njnz 1b\nmov -8(%rsp), %eax\nret\n.cfi_endproc\n"
        ".size red_zone, .-red_zone\n");

APART int memory(int n)
{
    int s = 0;
    for (int i = 1; i <= n; i++) {
        char *p = __builtin_alloca(i * 16);
        p[0] = (char)i;
        __asm__ volatile("" : : "r"(p) : "memory");
        s += p[0];
    }
    return s;
}

APART int switched(const char *text)
{
    int s = 0;
    for (; *text; text++)
        switch (*text) {
        case 'a': s += 1; break;
        case 'b': s += 20; continue;
        case 'c': s += 300; break;
        case 'd': return s;
        case 'e': s ^= 7; break;
        case 'f': s *= 3; break;
        case 'g': goto end;
        default: s -= 1;
        }
    s += 1000;
end:
    return s;
}

/* Both who is forked and who forks leave the loop. */
APART int forks(void)
{
    int child, status = 0;
    for (int i = 0; i < 3; i++) {
        child = vfork();
        if (child >= 0) break;
    }
    if (child == 0) _exit(9);
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

int main(void)
{
    int a[] = {5, 4, 3, -1, 2};
    printf("%d %d\n", simple(10), nested(3, 4));
    printf("%d %d %d\n", leaves_early(a, 3, 9), leaves_early(a, 5, 9), leaves_early(a, 5, 4));
    if (!setjmp(place)) jumps_away(7);
    printf("%d %d %d %d\n", down(4), crossed(3, 0), crossed(3, 1), counted(6));
    printf("%d %d %d\n", flags(3), flags(9), red_zone(10));
    printf("%d %d\n", middle(1), calls_middle(1));
    printf("%d %d\n", memory(20), forks());
    printf("%d %d %d %d\n", switched("abcf"), switched("abd"), switched("xeg"), switched(""));
    return 0;
}
