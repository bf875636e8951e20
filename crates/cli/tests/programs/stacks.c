/* Looks at its own call stack from moved code, in the ways that programs do: backtrace(3) from a function, from a signal
   handler on a stack of its own, from a coroutine, after a longjmp, in a child. Prints the names that it finds. */
#define _GNU_SOURCE
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone))

static volatile int depth_seen;
static jmp_buf back;
static ucontext_t whole, part;
static int how;

/* How many frames lie between here and the bottom of the stack. */
KEEP static int frames(void)
{
    void *addresses[64];
    return backtrace(addresses, 64);
}

KEEP int deepest(int x)
{
    depth_seen = frames();
    if (how == 's') raise(SIGUSR1);
    if (how == 'j') longjmp(back, 5);
    if (how == 'c') swapcontext(&part, &whole);
    return x + depth_seen;
}
KEEP int middle(int x) { return 2 * deepest(x + 1) + 1; }
KEEP int outer(int x) { return 3 * middle(x) - 1; }

KEEP static void on_signal(int number)
{
    int base = depth_seen;
    /* The handler, the signal frame, raise and what is below. */
    printf("in the handler: %s\n", number == SIGUSR1 && frames() > base ? "the whole stack" : "less than it should be");
}

KEEP static void body(void)
{
    outer(1);
    outer(2);
}

static void *in_thread(void *data)
{
    (void)data;
    int before = frames();
    outer(3);
    printf("in a thread: %d frames more\n", depth_seen - before);
    return NULL;
}

int main(int argc, char **argv)
{
    int before = frames();
    outer(argc);
    printf("%d frames more\n", depth_seen - before);
    if (argc > 1 && strcmp(argv[1], "debugger") == 0) return 0;

    stack_t stack = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 };
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    how = 's';
    printf("%d\n", outer(1) > 0);

    how = 'j';
    int jumped = setjmp(back);
    if (jumped == 0) outer(1);
    printf("jumped %d, %d frames\n", jumped, frames() - before);

    how = 'c';
    getcontext(&part);
    part.uc_stack.ss_sp = malloc(1 << 16);
    part.uc_stack.ss_size = 1 << 16;
    part.uc_link = &whole;
    makecontext(&part, body, 0);
    for (int i = 0; i < 3; i++) {
        swapcontext(&whole, &part);
        printf("back from the coroutine, %d frames\n", frames() - before);
    }

    how = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    fflush(stdout);
    if (fork() == 0) {
        outer(1);
        printf("in a child: %d frames more\n", depth_seen - before);
        fflush(stdout);
        execl("/proc/self/exe", argv[0], "debugger", NULL);
    }
    wait(NULL);
    return 0;
}
