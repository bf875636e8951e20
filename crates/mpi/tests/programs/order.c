//ranks: 3
/* Ranks 1 and 2 send to whoever takes it first. Where HOW is 1, the tool alone makes rank 1 the second one: rank 2 sends when
   nine tenths of what keeps rank 1 are done, and more than a tenth of that is the wrapper of MPI_Wtime. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CALLS = 1000000 };

int main(int argc, char **argv) {
    int rank, value = 0, how = atoi(getenv("HOW"));
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        for (int i = 0; how == 1 && i < CALLS / 10 * 9; i++) MPI_Wtime();
        fclose(fopen("nearly", "w"));
        for (int i = 0; how == 1 && i < CALLS / 10; i++) MPI_Wtime();
        if (how == 0) usleep(100000);
    }
    if (rank == 2)
        while (access("nearly", F_OK) != 0) usleep(1000);
    if (rank > 0) MPI_Send(&value, 1, MPI_INT, 0, rank, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < 2; i++) MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
