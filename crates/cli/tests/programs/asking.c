/* asking MODE: rank 0 has worked in many short calls and asks for a message, which rank 1 sends later. With `waits` it asks until the
   message is there, with `passes` it goes on with its work meanwhile, for as many rounds in either case as it takes and some more. */
#include <mpi.h>
#include <string.h>
#include <time.h>

__attribute__((noinline)) static double step(double x) { return x * 0.999 + 1; }

__attribute__((noinline)) static double work(double x, long steps) {
    for (long i = 0; i < steps; i++) x = step(x);
    return x;
}

static inline __attribute__((always_inline)) double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

__attribute__((noinline)) static void busy(double seconds) {
    for (double end = now() + seconds; now() < end;) { }
}

__attribute__((noinline)) static double wait_for(MPI_Request *request, double x) {
    int there = 0;
    while (!there) MPI_Test(request, &there, MPI_STATUS_IGNORE);
    return x;
}

__attribute__((noinline)) static double pass(MPI_Request *request, double x, long rounds) {
    int there = 0;
    for (long round = 0; round < rounds || !there; round++) {
        int answer = 0;
        MPI_Test(request, &answer, MPI_STATUS_IGNORE);
        if (answer) { there = 1; x = work(x, 1); }
        x = work(x, 10);
    }
    return x;
}

int main(int count, char **words) {
    int rank, value = 7;
    double x = count;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Request request;
        MPI_Irecv(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
        x = work(x, 200000);
        x = strcmp(words[1], "waits") == 0 ? wait_for(&request, x) : pass(&request, x, 1000);
    } else if (rank == 1) {
        busy(0.2);
        MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return x < 0;
}
