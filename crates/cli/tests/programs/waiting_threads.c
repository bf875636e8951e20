// Threads that wait for one another: the first argument says how. One of them makes a hundred times as many calls as the other.
#ifdef _OPENMP
#include <omp.h>
#endif
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 20, MANY = 20000, FEW = MANY / 100 };

static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int round_of_busy;
static sem_t semaphore;

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

static void *with_posts(void *sum) {
    for (int round = 0; round < ROUNDS; round++) {
        *(double *)sum += work(MANY);
        sem_post(&semaphore);
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

// The busy thread works with a lock in its hands, and the other one asks for it meanwhile.
static pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinning;
enum lock { MUTEX, READERS, SPINNING };
static int round_inside, round_asking, round_done;

static void await(int *round, int wanted) {
    while (__atomic_load_n(round, __ATOMIC_SEQ_CST) != wanted) sched_yield();
}

// It works from when the other one is about to ask.
static void be_inside(int round) {
    __atomic_store_n(&round_inside, round, __ATOMIC_SEQ_CST);
    await(&round_asking, round);
}

static void be_asking(int round) {
    await(&round_inside, round);
    __atomic_store_n(&round_asking, round, __ATOMIC_SEQ_CST);
}

static void take(enum lock lock, int to_write) {
    if (lock == MUTEX) pthread_mutex_lock(&mutex);
    else if (lock == SPINNING) pthread_spin_lock(&spinning);
    else if (to_write) pthread_rwlock_wrlock(&readers);
    else pthread_rwlock_rdlock(&readers);
}

static void let_go(enum lock lock) {
    if (lock == MUTEX) pthread_mutex_unlock(&mutex);
    else if (lock == SPINNING) pthread_spin_unlock(&spinning);
    else pthread_rwlock_unlock(&readers);
}

static void *all_rounds_inside(double *sum, enum lock lock) {
    for (int round = 1; round <= ROUNDS; round++) {
        take(lock, 1);
        be_inside(round);
        *sum += work(MANY);
        let_go(lock);
        await(&round_done, round);
    }
    return 0;
}

static void *with_mutex(void *sum) { return all_rounds_inside(sum, MUTEX); }

static void *with_write_lock(void *sum) { return all_rounds_inside(sum, READERS); }

static void *with_spin_lock(void *sum) { return all_rounds_inside(sum, SPINNING); }

// Each has the lock until the other one asks for it, and asks again once that has it.
static int is_asking[2], is_through[2];

static void take_turns(int own, double *sum) {
    int other = 1 - own;
    for (int turn = 0; turn < 10 * ROUNDS; turn++) {
        __atomic_store_n(&is_asking[own], 1, __ATOMIC_SEQ_CST);
        pthread_mutex_lock(&mutex);
        __atomic_store_n(&is_asking[own], 0, __ATOMIC_SEQ_CST);
        *sum += work(FEW);
        // For much longer than that takes longer by being measured.
        for (volatile int i = 0; i < MANY; i++) continue;
        while (!__atomic_load_n(&is_asking[other], __ATOMIC_SEQ_CST) && !__atomic_load_n(&is_through[other], __ATOMIC_SEQ_CST)) sched_yield();
        pthread_mutex_unlock(&mutex);
        await(&is_asking[other], 0);
    }
    __atomic_store_n(&is_through[own], 1, __ATOMIC_SEQ_CST);
}

static void *in_turns(void *sum) {
    take_turns(1, sum);
    return 0;
}

static void ask_for_lock(int round, enum lock lock) {
    be_asking(round);
    take(lock, 0);
    let_go(lock);
    __atomic_store_n(&round_done, round, __ATOMIC_SEQ_CST);
}

#ifdef _OPENMP
static omp_lock_t team_lock;

static double in_turn(int is_busy, int round, int is_critical) {
    double sum = 0;
    if (!is_busy) be_asking(round);
    if (is_critical) {
#pragma omp critical(turn)
        {
            if (is_busy) be_inside(round);
            sum += work(is_busy ? MANY : FEW);
        }
    } else {
        omp_set_lock(&team_lock);
        if (is_busy) be_inside(round);
        sum += work(is_busy ? MANY : FEW);
        omp_unset_lock(&team_lock);
    }
    if (is_busy) await(&round_done, round);
    else __atomic_store_n(&round_done, round, __ATOMIC_SEQ_CST);
    return sum;
}
#endif

static double taking_turns(int is_critical) {
    double sum = 0;
#ifdef _OPENMP
    omp_init_lock(&team_lock);
#pragma omp parallel num_threads(2) reduction(+ : sum)
    for (int round = 1; round <= ROUNDS; round++) sum += in_turn(omp_get_thread_num() == 1, round, is_critical);
    omp_destroy_lock(&team_lock);
#endif
    return is_critical ? sum : -sum;
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
    } else if (strcmp(how, "critical") == 0 || strcmp(how, "team lock") == 0) {
        own = taking_turns(how[0] == 'c');
    } else {
        void *(*busy)(void *) = strcmp(how, "exit") == 0      ? all_rounds_and_leave
                                : strcmp(how, "barrier") == 0 ? at_barriers
                                : strcmp(how, "signal") == 0  ? with_signals
                                : strcmp(how, "post") == 0    ? with_posts
                                : strcmp(how, "system") == 0  ? by_system_calls
                                : strcmp(how, "mutex") == 0   ? with_mutex
                                : strcmp(how, "rwlock") == 0  ? with_write_lock
                                : strcmp(how, "spin") == 0    ? with_spin_lock
                                : strcmp(how, "turns") == 0   ? in_turns
                                                              : all_rounds;
        pthread_t thread;
        pthread_barrier_init(&barrier, 0, 2);
        sem_init(&semaphore, 0, 0);
        pthread_spin_init(&spinning, PTHREAD_PROCESS_PRIVATE);
        pthread_create(&thread, 0, busy, &other);
        if (busy == in_turns) take_turns(0, &own);
        for (int round = 0; round < ROUNDS; round++) {
            own += work(FEW);
            if (busy == at_barriers) pthread_barrier_wait(&barrier);
            if (busy == with_posts) sem_wait(&semaphore);
            if (busy == with_mutex) ask_for_lock(round + 1, MUTEX);
            if (busy == with_write_lock) ask_for_lock(round + 1, READERS);
            if (busy == with_spin_lock) ask_for_lock(round + 1, SPINNING);
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
