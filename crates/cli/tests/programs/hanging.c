/* Rank 0 waits for an answer of rank 1, which kills itself after so many seconds. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static void ask(int seconds)
{
    int answer;
    MPI_Send(&seconds, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(&answer, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

__attribute__((noinline)) static void ponder(void)
{
    int seconds;
    MPI_Recv(&seconds, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sleep(seconds);
    raise(SIGKILL);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        ask(atoi(argv[1]));
    else
        ponder();
    MPI_Finalize();
    return 0;
}
