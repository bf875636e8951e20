//ranks: 2
/* The root of broadcasts is far ahead of who gets them: on one communicator by one, and then by AHEAD on another. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, value = 0, sum = 0, ahead = atoi(getenv("AHEAD"));
    MPI_Comm other;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Barrier(MPI_COMM_WORLD);
    /* The root is ahead of broadcasts alone: not while the other one is in the barrier still, which would be one more. */
    if (rank == 1) fclose(fopen("outside", "w"));
    while (access(rank == 1 ? "ahead" : "outside", F_OK) != 0) usleep(1000);
    for (int i = 0; i <= ahead; i++) {
        value = rank == 0 ? i : 0;
        MPI_Bcast(&value, 1, MPI_INT, 0, i == 0 ? MPI_COMM_WORLD : other);
        sum += value;
    }
    if (rank == 0) fclose(fopen("ahead", "w"));
    printf("%d: %d\n", rank, sum);
    MPI_Finalize();
}
