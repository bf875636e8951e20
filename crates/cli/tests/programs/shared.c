/* Ranks that work and meet, thirty times: all alike, or rank 0 so many times longer. */
#include <mpi.h>
#include <stdlib.h>

static volatile double sink;

__attribute__((noinline)) static void work(long units)
{
    double x = 1.0;
    for (long i = 0; i < units; i++) x = x * 1.0000001 + 1e-9;
    sink = x;
}

int main(int argc, char **argv)
{
    int rank;
    long slow = argc > 1 ? atol(argv[1]) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < 30; round++) {
        work(10000000 * (rank == 0 ? slow : 1));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
