/* Traps whose signals are caught, so that the program goes on behind them. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>

#define APART __attribute__((noinline, noclone))

static volatile int caught;

/* Goes on behind `ud2` and `hlt`; `int3` is over when its signal comes. */
static void skip(int signal, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    registers[REG_RIP] += signal == SIGILL ? 2 : signal == SIGSEGV ? 1 : 0;
    caught++;
    (void)info;
}

APART static int undefined(int number) { __asm__ volatile("ud2" : "+r"(number) : : "memory"); return number + 1; }
APART static int halted(int number) { __asm__ volatile("hlt" : "+r"(number) : : "memory"); return number * 3; }
APART static int stopped(int number) { __asm__ volatile("int3" : "+r"(number) : : "memory"); return number - 7; }

/* What stands behind the trap alone leads back to the function's beginning. */
APART static int again(int number)
{
    __asm__ volatile("1: sub $1, %0\nud2\nud2\ncmp $1, %0\njg 1b" : "+r"(number) : : "memory", "cc");
    return number;
}

/* Ends with a trap, behind which the next function may stand. */
APART static void ends(int number) { if (number) return; __builtin_trap(); }

int main(void)
{
    struct sigaction action = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &action, 0);
    sigaction(SIGSEGV, &action, 0);
    sigaction(SIGTRAP, &action, 0);
    for (int i = 1; i < 4; i++) {
        printf("%d %d %d %d ", undefined(i), halted(i), stopped(i), again(i + 3));
        ends(i);
        printf("%d\n", caught);
    }
    return 0;
}
