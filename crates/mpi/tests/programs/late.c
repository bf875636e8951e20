//ranks: 2
/* Rank 1 is made late by the tool alone (each MPI_Wtime costs a wrapper), rank 0 waits for it in several ways:
   argument 1 says how. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, value = 0, flag = 0, index, how = atoi(getenv("HOW"));
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        for (int i = 0; i < 200000; i++) MPI_Wtime();
    switch (how) {
    case 0:
        if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        else MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    case 1:
        if (rank == 1) {
            MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        } else {
            MPI_Irecv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[0]);
            requests[1] = MPI_REQUEST_NULL;
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
        break;
    case 2:
        if (rank == 1) {
            MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        } else {
            MPI_Irecv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[0]);
            while (!flag) MPI_Testany(1, requests, &index, &flag, MPI_STATUS_IGNORE);
        }
        break;
    case 3: MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD); break;
    case 4: MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
    case 5: MPI_Reduce(rank ? &value : MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); break;
    case 6:
        if (rank == 1) {
            MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        } else {
            MPI_Probe(1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        break;
    case 7:     /* slack: the message is there long before it is received */
        if (rank == 1) {
            MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
            fclose(fopen("sent", "w"));
        } else {
            while (access("sent", F_OK) != 0) usleep(1000);
            MPI_Recv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        break;
    case 8: {
        MPI_Comm pair;
        MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &pair);
        if (rank == 1) MPI_Sendrecv(&value, 1, MPI_INT, 1, 5, &value, 1, MPI_INT, MPI_PROC_NULL, 5, pair, MPI_STATUS_IGNORE);
        else MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 5, &index, 1, MPI_INT, 0, 5, pair, MPI_STATUS_IGNORE);
        MPI_Comm_free(&pair);
        break;
    }
    case 9:
        if (rank == 1) {
            MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        } else {
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Irecv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        }
        break;
    }
    MPI_Finalize();
    return 0;
}
