//ranks: 2
/* Rank 1 is made late by the tool alone, as in late.c, and then starts another process, for which rank 0 waits already. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank;
    MPI_Comm parents, children;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parents);
    if (parents != MPI_COMM_NULL) {
        MPI_Comm_disconnect(&parents);
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        while (access("waiting", F_OK) != 0) usleep(1000);
        usleep(20000);
        for (int i = 0; i < 400000; i++) MPI_Wtime();
    } else {
        fclose(fopen("waiting", "w"));
    }
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 1, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    MPI_Comm_disconnect(&children);
    MPI_Finalize();
    return 0;
}
