// Every construct of OpenMP that threads wait in; what it prints does not depend on who does what.
#include <omp.h>
#include <stdio.h>

__attribute__((noinline)) static double leaf(double x) {
    for (int i = 0; i < 25; i++) x = x * 1.0000001 + 1e-9;
    return x;
}

static int tasks(int n) {
    int a, b;
    if (n < 2) return n;
#pragma omp task shared(a)
    a = tasks(n - 1);
#pragma omp task shared(b)
    b = tasks(n - 2);
#pragma omp taskwait
    return a + b;
}

static long worksharing(int *sum_of_tasks) {
    long sum = 0;
#pragma omp parallel num_threads(3)
    {
#pragma omp single
        *sum_of_tasks = tasks(14);
#pragma omp for schedule(dynamic, 3) reduction(+ : sum)
        for (int i = 0; i < 1000; i++) sum += leaf(i) >= 0;
#pragma omp for schedule(guided) reduction(+ : sum)
        for (int i = 0; i < 1000; i++) sum += leaf(i) >= 0;
#pragma omp for schedule(static) ordered reduction(+ : sum)
        for (int i = 0; i < 100; i++) {
#pragma omp ordered
            sum += leaf(i) >= 0;
        }
#pragma omp sections reduction(+ : sum)
        {
#pragma omp section
            sum += leaf(1) >= 0;
#pragma omp section
            sum += leaf(2) >= 0;
        }
        double x;
#pragma omp single copyprivate(x)
        x = leaf(3);
#pragma omp critical
        sum += x > 0;
#pragma omp barrier
#pragma omp taskloop grainsize(10)
        for (int i = 0; i < 100; i++) {
#pragma omp atomic
            sum += 1;
        }
    }
    return sum;
}

static long nested(void) {
    long sum = 0;
    omp_set_max_active_levels(3);
    for (int round = 0; round < 30; round++) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
        {
#pragma omp parallel num_threads(2) reduction(+ : sum)
            {
                sum += leaf(round) >= 0;
#pragma omp barrier
                sum += leaf(round) >= 0;
            }
#pragma omp barrier
        }
    }
    return sum;
}

static long combined(void) {
    long sum = 0;
#pragma omp parallel for schedule(runtime) reduction(+ : sum)
    for (int i = 0; i < 1000; i++) sum += leaf(i) >= 0;
#pragma omp parallel sections reduction(+ : sum)
    {
#pragma omp section
        sum += 1;
#pragma omp section
        sum += 2;
    }
#pragma omp parallel num_threads(1) reduction(+ : sum)
    sum += omp_get_num_threads();
#pragma omp parallel if (0) reduction(+ : sum)
    sum += omp_get_num_threads();
    int by_tasks = 0;
#pragma omp parallel reduction(task, + : by_tasks)
    {
#pragma omp single
        for (int i = 0; i < 10; i++) {
#pragma omp task in_reduction(+ : by_tasks)
            by_tasks += 1;
        }
    }
    return sum + by_tasks;
}

static int cancelled(void) {
    int found = 0;
#pragma omp parallel num_threads(3)
    {
#pragma omp for
        for (int i = 0; i < 1000; i++) {
            if (i == 500) {
#pragma omp atomic write
                found = 1;
#pragma omp cancel for
            }
#pragma omp cancellation point for
            leaf(i);
        }
#pragma omp barrier
    }
    return found;
}

int main(void) {
    int sum_of_tasks = 0;
    long first = worksharing(&sum_of_tasks);
    printf("%d %ld %ld %ld %d\n", sum_of_tasks, first, nested(), combined(), cancelled());
    return 0;
}
