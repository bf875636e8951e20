// Threads that wait for one another: the first argument says how. One of them makes a hundred times as many calls as the other.
#ifdef _OPENMP
#include <omp.h>
#endif
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 20, MANY = 20000, FEW = MANY / 100 };

static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int round_of_busy;

__attribute__((noinline)) double step(double x) {
    __asm__ volatile("");
    return x * 1.0000001 + 1e-9;
}

__attribute__((noinline)) double work(int calls) {
    double x = 1;
    for (int i = 0; i < calls; i++) x = step(x);
    return x;
}

static void *all_rounds(void *sum) {
    for (int round = 0; round < ROUNDS; round++) *(double *)sum += work(MANY);
    return 0;
}

static void *all_rounds_and_leave(void *sum) {
    all_rounds(sum);
    pthread_exit(0);
}

static void *at_barriers(void *sum) {
    for (int round = 0; round < ROUNDS; round++) {
        *(double *)sum += work(MANY);
        pthread_barrier_wait(&barrier);
    }
    return 0;
}

static int is_done;

static void *by_system_calls(void *sum) {
    all_rounds(sum);
    __atomic_store_n(&is_done, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &is_done, FUTEX_WAKE, 1, 0, 0, 0);
    return 0;
}

static void *with_signals(void *sum) {
    for (int round = 0; round < ROUNDS; round++) {
        *(double *)sum += work(MANY);
        pthread_mutex_lock(&mutex);
        round_of_busy = round + 1;
        pthread_cond_signal(&condition);
        pthread_mutex_unlock(&mutex);
    }
    return 0;
}

static double parallel(void) {
    double sum = 0;
#ifdef _OPENMP
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
        {
            int is_busy = omp_get_thread_num() == round % 2;
            sum += work(is_busy ? MANY : FEW);
#pragma omp barrier
            sum += work(is_busy ? FEW : MANY);
        }
    }
#endif
    return sum;
}

int main(int count, char **arguments) {
    const char *how = count > 1 ? arguments[1] : "join";
    double own = 0, other = 0;
    if (strcmp(how, "openmp") == 0) {
        own = parallel();
    } else {
        void *(*busy)(void *) = strcmp(how, "exit") == 0      ? all_rounds_and_leave
                                : strcmp(how, "barrier") == 0 ? at_barriers
                                : strcmp(how, "signal") == 0  ? with_signals
                                : strcmp(how, "system") == 0  ? by_system_calls
                                                              : all_rounds;
        pthread_t thread;
        pthread_barrier_init(&barrier, 0, 2);
        pthread_create(&thread, 0, busy, &other);
        for (int round = 0; round < ROUNDS; round++) {
            own += work(FEW);
            if (busy == at_barriers) pthread_barrier_wait(&barrier);
            if (busy != with_signals) continue;
            pthread_mutex_lock(&mutex);
            while (round_of_busy <= round) pthread_cond_wait(&condition, &mutex);
            pthread_mutex_unlock(&mutex);
        }
        while (busy == by_system_calls && !__atomic_load_n(&is_done, __ATOMIC_SEQ_CST)) syscall(SYS_futex, &is_done, FUTEX_WAIT, 0, 0, 0, 0);
        pthread_join(thread, 0);
        pthread_barrier_destroy(&barrier);
    }
    printf("%.6f\n", own + other);
    return 0;
}
