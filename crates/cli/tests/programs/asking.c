/* asking MODE: rank 0 has worked in many short calls and asks for a message, which rank 1 sends when it has asked in vain: that stands
   in memory that both share, so that no delay travels with it. With `waits` rank 0 asks until the message is there, with `passes` it goes
   on with its work meanwhile, for as many rounds as it takes and some more. Where the message was there for half a millisecond before it was
   asked for, as rank 0 had no processor, a wait tells nothing, and all is done once more. */
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* How often rank 0 has asked in vain for the first time, and whether it asks no more. */
static struct { _Atomic long asked; _Atomic int over; } *shared;

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

__attribute__((noinline)) static int share(void) {
    int file = open("asking.shared", O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, 4096) != 0) return 0;
    shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return shared != MAP_FAILED;
}

/* When the last question was asked. */
__attribute__((noinline)) static double wait_for(MPI_Request *request, long round) {
    int there = 0;
    double asked = 0;
    while (!there) {
        asked = now();
        MPI_Test(request, &there, MPI_STATUS_IGNORE);
        shared->asked = round;
    }
    return asked;
}

__attribute__((noinline)) static double pass(MPI_Request *request, double x, long rounds) {
    int there = 0;
    for (long round = 0; round < rounds || !there; round++) {
        int answer = 0;
        MPI_Test(request, &answer, MPI_STATUS_IGNORE);
        shared->asked = 1;
        if (answer) { there = 1; x = work(x, 1); }
        x = work(x, 10);
    }
    return x;
}

int main(int count, char **words) {
    int rank;
    double x = count, sent = 0;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!share()) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    for (long round = 1; rank == 0 && !shared->over; round++) {
        MPI_Request request;
        MPI_Irecv(&sent, 1, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD, &request);
        x = work(x, 200000);
        if (strcmp(words[1], "waits") == 0) {
            double asked = wait_for(&request, round);
            shared->over = asked - sent < 0.0005;
        } else {
            x = pass(&request, x, 1000);
            shared->over = 1;
        }
    }
    for (long round = 1; rank == 1; round++) {
        while (shared->asked < round && !shared->over) sched_yield();
        if (shared->over) break;
        sent = now();
        MPI_Send(&sent, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return x < 0;
}
