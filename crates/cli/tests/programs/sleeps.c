/* The last rank, or the program where there is one alone, sleeps for much longer than all of its work takes. */
#include <time.h>
#ifndef ALONE
#include <mpi.h>
#endif

__attribute__((noinline)) static int doze(int times)
{
    struct timespec pause = {0, 20000000};
    for (int i = 0; i < times; i++) nanosleep(&pause, 0);
    return times;
}

int main(int argc, char **argv)
{
    int rank = 1;
#ifndef ALONE
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
    int dozed = 0;
    for (int i = 0; i < 5; i++) {
        if (rank == 1) dozed += doze(5);
#ifndef ALONE
        MPI_Barrier(MPI_COMM_WORLD);
#endif
    }
#ifndef ALONE
    MPI_Finalize();
#endif
    return dozed != (rank == 1 ? 25 : 0) || argc < 0 || !argv;
}
