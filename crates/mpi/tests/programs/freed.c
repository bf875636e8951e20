//ranks: 2
//: MPI_Init 1
//: MPI_Finalize 1
//: MPI_Comm_rank 1
//: MPI_Comm_dup 3
//: MPI_Comm_free 3
//: MPI_Irecv 3
//: MPI_Isend 3
//: MPI_Waitall 3
//: unpaired 0
//: uncovered 0
/* Communicators are freed while messages are on their way. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, got = -1, mine;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3; i++) {
        MPI_Comm comm;
        MPI_Request requests[2];
        mine = 10 * i + rank;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Irecv(&got, 1, MPI_INT, i ? 1 - rank : MPI_ANY_SOURCE, 5, comm, &requests[0]);
        MPI_Isend(&mine, 1, MPI_INT, 1 - rank, 5, comm, &requests[1]);
        MPI_Comm_free(&comm);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        printf("%d: %d\n", rank, got);
    }
    MPI_Finalize();
    return 0;
}
