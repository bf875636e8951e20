/* Calls short functions, also recursively and from several threads, for N rounds, or until the file argv[2] is there. The
 * sum that it prints does not depend on who measures. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline)) static long small(long x)
{
    sink = x;
    return x + 1;
}

__attribute__((noinline)) static long middle(long x)
{
    return small(x) + small(x + 1);
}

__attribute__((noinline)) static long fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__attribute__((noinline)) static long round_of_work(void)
{
    long sum = fib(12);
    for (int i = 0; i < 1000; i++)
        sum += middle(i);
    return sum;
}

struct job {
    long rounds;
    const char *until;
    long sum;
};

static void *work(void *argument)
{
    struct job *job = argument;
    for (long i = 0; i < job->rounds || (job->until && access(job->until, F_OK)); i++)
        job->sum += i < job->rounds ? round_of_work() : 0 * round_of_work();
    return NULL;
}

int main(int argc, char **argv)
{
    struct job jobs[2] = {{0}};
    pthread_t thread;
    for (int i = 0; i < 2; i++) {
        jobs[i].rounds = atol(argv[1]);
        jobs[i].until = argc > 2 ? argv[2] : NULL;
    }
    pthread_create(&thread, NULL, work, &jobs[1]);
    work(&jobs[0]);
    pthread_join(thread, NULL);
    printf("%ld\n", jobs[0].sum + jobs[1].sum);
    return 0;
}
