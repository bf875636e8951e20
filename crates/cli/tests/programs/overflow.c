/* Recursion that runs out of the stack on ever new paths, is caught on an alternate stack and left by siglongjmp, again and again. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static sigjmp_buf outside;
static volatile unsigned state = 1;

extern void (*const next[4])(int);

#define DEFINE(name, bytes)                                         \
    __attribute__((noinline)) static void name(int depth)           \
    {                                                               \
        char room[bytes];                                           \
        memset(room, depth, sizeof room);                           \
        state = state * 1103515245u + 12345u + (unsigned)room[7];   \
        next[state >> 16 & 3](depth + 1);                           \
        state++;                                                    \
    }
DEFINE(first, 16)
DEFINE(second, 200)
DEFINE(third, 72)
DEFINE(fourth, 1000)
void (*const next[4])(int) = {first, second, third, fourth};

static void on_signal(int number)
{
    (void)number;
    siglongjmp(outside, 1);
}

int main(void)
{
    static char memory[65536];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaction(SIGSEGV, &action, NULL);
    volatile int caught = 0;
    for (volatile int i = 0; i < 5; i++) {
        if (sigsetjmp(outside, 1)) caught++;
        else first(0);
    }
    printf("%d caught\n", caught);
    return 0;
}
