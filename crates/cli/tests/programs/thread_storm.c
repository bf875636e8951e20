// Threads that are started, joined, cancelled and left in every way.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int cleaned;

__attribute__((noinline)) static double leaf(double x) {
    for (int i = 0; i < 25; i++) x = x * 1.0000001 + 1e-9;
    return x;
}

static void clean(void *unused) {
    (void)unused;
    cleaned++;
    pthread_mutex_unlock(&mutex);
}

static void *waits(void *unused) {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(clean, 0);
    for (;;) pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(0);
    return unused;
}

static void *sleeps(void *unused) {
    pause();
    return unused;
}

static void *joins(void *thread) {
    pthread_join(*(pthread_t *)thread, 0);
    return 0;
}

static void *is_short(void *number) { return (void *)(long)(leaf((long)number) >= 0); }

static void *forks(void *unused) {
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, 0, is_short, (void *)3);
        pthread_join(thread, &result);
        _exit(result ? 7 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    return (void *)(long)WEXITSTATUS(status);
}

int main(void) {
    pthread_t threads[32];
    void *result;
    int number = 0;
    for (int i = 0; i < 50; i++) {
        pthread_create(&threads[0], 0, waits, 0);
        usleep(200);
        pthread_cancel(threads[0]);
        pthread_join(threads[0], &result);
        number += result == PTHREAD_CANCELED;
    }
    printf("%d cancelled while they waited, %d cleaned up\n", number, cleaned);
    number = 0;
    for (int i = 0; i < 20; i++) {
        pthread_create(&threads[0], 0, sleeps, 0);
        pthread_create(&threads[1], 0, joins, &threads[0]);
        usleep(200);
        pthread_cancel(threads[1]);
        pthread_join(threads[1], &result);
        number += result == PTHREAD_CANCELED;
        pthread_cancel(threads[0]);
        pthread_join(threads[0], 0);
    }
    printf("%d cancelled while they joined\n", number);
    long sum = 0;
    for (int round = 0; round < 200; round++) {
        for (long i = 0; i < 32; i++) pthread_create(&threads[i], 0, is_short, (void *)i);
        for (int i = 0; i < 32; i++) {
            pthread_join(threads[i], &result);
            sum += (long)result;
        }
    }
    printf("%ld short ones\n", sum);
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < 1000; i++)
        while (pthread_create(&threads[0], &detached, is_short, (void *)1)) usleep(100);
    sum = 0;
    for (int i = 0; i < 16; i++) pthread_create(&threads[i], 0, forks, 0);
    for (int i = 0; i < 16; i++) {
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    printf("%ld of children\n", sum);
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec = (soon.tv_nsec + 1000000) % 1000000000;
    soon.tv_sec += soon.tv_nsec < 1000000;
    pthread_create(&threads[0], 0, sleeps, 0);
    printf("%d %d", pthread_tryjoin_np(threads[0], &result) == EBUSY, pthread_timedjoin_np(threads[0], &result, &soon) == ETIMEDOUT);
    pthread_mutex_lock(&mutex);
    printf(" %d", pthread_cond_timedwait(&condition, &mutex, &soon) == ETIMEDOUT);
    pthread_mutex_unlock(&mutex);
    pthread_cancel(threads[0]);
    printf(" %d %d\n", pthread_join(threads[0], 0), pthread_join(pthread_self(), 0) == EDEADLK);
    return 0;
}
