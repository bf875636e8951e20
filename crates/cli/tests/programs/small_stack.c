/* Signals whose handlers run on an alternate stack of 8 KiB, with a pattern below it that nobody may touch. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { SIZE = 8192, BELOW = 16384 };

static char memory[BELOW + SIZE] __attribute__((aligned(64)));
static volatile int handled;

__attribute__((noinline)) int inner(int x)
{
    handled += x;
    return handled;
}

static void on_signal(int number)
{
    inner(number == SIGUSR1);
}

int main(void)
{
    memset(memory, 0x5a, BELOW);
    stack_t stack = {.ss_sp = memory + BELOW, .ss_size = SIZE};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 3000; i++) raise(SIGUSR1);
    int touched = 0;
    for (int i = 0; i < BELOW; i++) touched += memory[i] != 0x5a;
    printf("%d handled, %d bytes touched\n", handled, touched);
    return 0;
}
