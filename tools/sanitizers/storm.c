// Threads that end, forked children and signals, all inside of measured functions; each checks that errno stays its own.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 12, THREADS = 8, CALLS = 5000 };

static volatile sig_atomic_t spoiled;

__attribute__((noinline)) long leaf(long x) {
    __asm__("");
    return x + 1;
}

__attribute__((noinline)) long caller(long x) {
    for (int i = 0; i < 20; i++) x = leaf(x);
    return x;
}

__attribute__((noinline)) long deep(int levels) { return levels ? 1 + deep(levels - 1) : 0; }

__attribute__((noinline)) long handled(long x) { return leaf(caller(x)); }

static void interrupted(int number) {
    int before = errno;
    errno = 99;
    handled(number);
    if (errno != 99) spoiled = 1;
    errno = before;
}

static void *work(void *sum) {
    for (int i = 0; i < CALLS; i++) {
        errno = 77;
        *(long *)sum += caller(i) + deep(i % 50);
        if (errno != 77) spoiled = 1;
    }
    return NULL;
}

int main(void) {
    long total = 0;
    struct itimerval often = {{0, 200}, {0, 200}};
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    signal(SIGALRM, interrupted);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        long sums[THREADS] = {0};
        for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, &sums[i]);
        // The thread sanitizer calls a handler at once while a thread is joined, and waits for itself where that frees memory.
        pthread_sigmask(SIG_BLOCK, &alarms, NULL);
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
        pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
        for (int i = 0; i < THREADS; i++) total += sums[i];
        pid_t child = fork();
        if (child == 0) {
            work(&total);
            _exit(spoiled);
        }
        int status;
        while (waitpid(child, &status, 0) < 0) continue;
        if (status != 0) spoiled = 1;
    }
    printf("%ld %d\n", total, (int)spoiled);
    return spoiled;
}
