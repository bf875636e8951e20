//ranks: 3
/* The root of a broadcast goes on to meet a third process AHEAD times before the other one gets what was sent, but not before
   that one is done with making the communicators: it looks for the root there, too. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, value = 0, ahead = atoi(getenv("AHEAD"));
    MPI_Comm both, others;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 2 ? MPI_UNDEFINED : 0, rank, &both);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 1 ? MPI_UNDEFINED : 0, rank, &others);
    if (rank == 0) value = ahead;
    if (rank == 1) fclose(fopen("made", "w"));
    while (rank == 0 && access("made", F_OK) != 0) usleep(1000);
    while (rank == 1 && access("ahead", F_OK) != 0) usleep(1000);
    if (rank != 2) MPI_Bcast(&value, 1, MPI_INT, 0, both);
    for (int i = 0; rank != 1 && i < ahead; i++) MPI_Barrier(others);
    if (rank == 0) fclose(fopen("ahead", "w"));
    printf("%d: %d\n", rank, value);
    MPI_Finalize();
}
