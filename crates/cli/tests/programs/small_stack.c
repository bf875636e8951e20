/* Functions on stacks with room for little more than themselves, with a pattern below that nobody may touch: handlers on an alternate
   stack of what the kernel needs and 1 KiB, coroutines of 1 KiB, and a thread that has used up its stack but for 1 KiB. All but the first
   paths are new there. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>

enum { ROOM = 1024, BELOW = 16384, SIGNAL = 12288, STACK = 1 << 17, TIMES = 3000 };

static char for_handlers[BELOW + SIGNAL] __attribute__((aligned(64)));
static char for_coroutines[BELOW + ROOM] __attribute__((aligned(64)));
static char for_thread[STACK] __attribute__((aligned(4096)));
static volatile int handled, run, sunk;
static ucontext_t outside, inside;

__attribute__((noinline)) int inner(int x)
{
    sunk += x;
    return sunk;
}

__attribute__((noinline)) int middle(int x)
{
    return inner(x) - inner(-x);
}

static void on_signal(int number)
{
    handled += number == SIGUSR1;
    middle(number);
}

static void coroutine(void)
{
    for (;;) {
        run++;
        middle(run);
        swapcontext(&inside, &outside);
    }
}

/* With `room` as low as may be. */
__attribute__((noinline)) static int use_up(char *low)
{
    char here;
    if (&here - low > ROOM + 512) {
        volatile char room[256];
        room[0] = 1;
        return use_up(low) + room[0];
    }
    memset(low - BELOW, 0x5a, BELOW);
    int sum = 0;
    for (int i = 0; i < TIMES; i++) sum += middle(i) & 1;
    return sum;
}

static void *thread(void *unused)
{
    (void)unused;
    /* What the system keeps in a thread's stack lies above. */
    use_up(for_thread + BELOW + 8192);
    return NULL;
}

static int touched(const char *pattern)
{
    int bytes = 0;
    for (int i = 0; i < BELOW; i++) bytes += pattern[i] != 0x5a;
    return bytes;
}

int main(void)
{
    memset(for_handlers, 0x5a, BELOW);
    memset(for_coroutines, 0x5a, BELOW);
    size_t size = getauxval(AT_MINSIGSTKSZ) + ROOM;
    if (size > SIGNAL) size = SIGNAL;
    stack_t stack = {.ss_sp = for_handlers + BELOW, .ss_size = size};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < TIMES; i++) raise(SIGUSR1);

    getcontext(&inside);
    inside.uc_stack = (stack_t){.ss_sp = for_coroutines + BELOW, .ss_size = ROOM};
    makecontext(&inside, coroutine, 0);
    for (int i = 0; i < TIMES; i++) swapcontext(&outside, &inside);

    pthread_t other;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, for_thread, STACK);
    pthread_create(&other, &attributes, thread, NULL);
    pthread_join(other, NULL);

    printf("%d handled, %d run, touched %d %d %d\n", handled, run, touched(for_handlers), touched(for_coroutines), touched(for_thread + 8192));
    return 0;
}
