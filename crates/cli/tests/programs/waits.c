/* Says so, and then waits to be stopped. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        puts("waiting");
        fflush(stdout);
    }
    for (int i = 0; i < 600; i++) usleep(100000);
    MPI_Finalize();
    return 0;
}
