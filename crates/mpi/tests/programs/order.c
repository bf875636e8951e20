//ranks: 3
/* Ranks 1 and 2 send to whoever takes it first, and rank 1 is the second one: it sends when what rank 2 sent was received.
   Where HOW is 1, the tool alone has kept it from being the first, by the wrapper of MPI_Wtime before rank 2 sends. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void say(const char *what) { fclose(fopen(what, "w")); }

static void await(const char *what) {
    while (access(what, F_OK) != 0) usleep(1000);
}

int main(int argc, char **argv) {
    int rank, value = 0, how = atoi(getenv("HOW"));
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        for (int i = 0; how == 1 && i < 1000000; i++) MPI_Wtime();
        say("late");
        await("received");
        if (how == 0) usleep(100000);
    }
    if (rank == 2) await("late");
    if (rank > 0) MPI_Send(&value, 1, MPI_INT, 0, rank, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < 2; i++) {
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        say("received");
    }
    MPI_Finalize();
    return 0;
}
