//ranks: 2
//: MPI_Init 1
//: MPI_Finalize 1
//: MPI_Comm_rank 1
//: MPI_Isend 7
//: MPI_Irecv 7
//: MPI_Wait 14
//: MPI_Sendrecv 2
//: unpaired 0
//: uncovered 0
/* Messages of several sizes, both ways. */
#include <mpi.h>
#include <stdio.h>

static char out[40000], in[40000];

static int pass(int peer, int bytes) {
    MPI_Request sent, received;
    MPI_Irecv(in, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &received);
    MPI_Isend(out, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &sent);
    MPI_Wait(&received, MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    return bytes;
}

int main(int argc, char **argv) {
    static const int sizes[] = {0, 64, 65, 512, 4097, 32768, 32769};
    int rank, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 7; i++)
        sum += pass(1 - rank, sizes[i]);
    for (int i = 0; i < 2; i++)     /* more one way than the other */
        MPI_Sendrecv(out, rank ? 8 : 5000, MPI_CHAR, 1 - rank, 1, in, rank ? 5000 : 8, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("%d %d\n", rank, sum);
    MPI_Finalize();
    return 0;
}
