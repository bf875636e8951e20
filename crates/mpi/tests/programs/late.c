//ranks: 2
/* Rank 1 is made late by the tool alone (each MPI_Wtime costs a wrapper), rank 0 waits for it in several ways:
   argument 1 says how. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LARGE = 8 << 20 };

/* Time for what comes back late, in which the program calls MPI now and then. */
static void look_around(void) {
    for (int i = 0; i < 20; i++) {
        int flag;
        MPI_Initialized(&flag);
        usleep(2000);
    }
}

int main(int argc, char **argv) {
    int rank, value = 0, flag = 0, index, how = atoi(getenv("HOW"));
    int ring = 2, periodic = 1, sent[2] = {0, 0}, received[2];
    MPI_Request requests[2];
    MPI_Comm cart;
    MPI_Win window;
    char *large = calloc(LARGE, 1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ring, &periodic, 0, &cart);
    MPI_Win_create(sent, sizeof sent, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
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
    case 10:    /* the receiver is late, and the sender waits for it */
        if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else MPI_Ssend(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        look_around();
        break;
    case 11:
        if (rank == 1) MPI_Recv(large, LARGE, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else MPI_Send(large, LARGE, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
        look_around();
        break;
    case 12:
        if (rank == 1) {
            MPI_Irecv(large, LARGE, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        } else {
            MPI_Isend(large, LARGE, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &requests[0]);
            requests[1] = MPI_REQUEST_NULL;
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
        look_around();
        break;
    case 13:
        MPI_Iallreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        break;
    case 14:
        MPI_Ibcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD, &requests[0]);
        while (!flag) MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
        break;
    case 15: MPI_Neighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, cart); break;
    case 16:
        MPI_Ineighbor_allgather(sent, 1, MPI_INT, received, 1, MPI_INT, cart, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        break;
    case 17:
        if (rank == 1) MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
        MPI_Win_fence(0, window);
        break;
    }
    MPI_Win_free(&window);
    MPI_Comm_free(&cart);
    MPI_Finalize();
    return 0;
}
