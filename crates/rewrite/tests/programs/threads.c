/* Threads with thread-local data, and a signal handler that looks up the stack wherever it finds the program. */
#define _GNU_SOURCE
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define NOINLINE __attribute__((noinline))

static __thread long own;
static _Thread_local char name[16] = "fresh";
extern char _start[];
static volatile long good, bad;
static volatile int is_main_at_work;

static void look(int signal)
{
    (void)signal;
    void *frames[64];
    if (!is_main_at_work) return;
    int count = backtrace(frames, 64);
    int found = 0;
    for (int i = 0; i < count; i++)
        found |= (char *)frames[i] >= _start && (char *)frames[i] < _start + 64;
    if (found) good++; else bad++;
}

NOINLINE long step(long x) { own += x & 3; return x * 1103515245 + 12345; }
NOINLINE long spin(long n, long x) { for (long i = 0; i < n; i++) x = step(x); return x; }
NOINLINE long nested(int depth, long x) { return depth ? nested(depth - 1, x) + 1 : spin(20, x); }

static void *work(void *argument)
{
    long x = (long)argument;
    for (int i = 0; i < 2000; i++) x = nested(i % 9, x);
    snprintf(name, sizeof name, "%ld", own);
    return strdup(name);
}

int main(void)
{
    void *warm[4];
    backtrace(warm, 4);
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        printf("%s\n", (char *)result);
        free(result);
    }
    printf("%s %ld\n", name, own);
    struct sigaction action = {.sa_handler = look, .sa_flags = SA_RESTART};
    sigaction(SIGPROF, &action, NULL);
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_PROF, &often, NULL);
    is_main_at_work = 1;
    long x = 1;
    for (int i = 0; i < 4000 || (good + bad < 20 && i < 4000000); i++) x = nested(i % 9, x);
    is_main_at_work = 0;
    setitimer(ITIMER_PROF, &never, NULL);
    printf("%ld stacks that did not lead to the start\n", (long)bad);
    return x == 0;
}
