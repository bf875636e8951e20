/* Rank 1 kills itself in mid-run. */
#include <mpi.h>
#include <signal.h>

static volatile int sink;

__attribute__((noinline)) static void step(int i)
{
    sink += i;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 500; i++)
        step(i);
    if (rank == 1)
        raise(SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
