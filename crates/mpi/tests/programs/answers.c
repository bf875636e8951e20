//ranks: 2
//: MPI_Init 1
//: MPI_Finalize 1
//: MPI_Comm_rank 1
//: MPI_Barrier 200
//: MPI_Isend 400 0
//: MPI_Recv 0 400
//: MPI_Waitall 200 0
//: MPI_Initialized 4000 0
//: unpaired 0
//: uncovered 0
/* Large messages are received in another order than they are sent in. What becomes of a send is known when its receiver
   answers; memory that the program gets between two answers is the program's alone. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 200, LARGE = 4096, LOOKS = 20, BLOCKS = 16, SIZE = 32 };

int main(int argc, char **argv) {
    static char out[2][LARGE], in[LARGE];
    int rank, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 1) {
            MPI_Recv(in, LARGE, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            usleep(500);
            MPI_Recv(in, LARGE, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Request requests[2];
            char *blocks[BLOCKS][LOOKS], expected[SIZE];
            memset(expected, 0x5a, SIZE);
            for (int i = 0; i < 2; i++) MPI_Isend(out[i], LARGE, MPI_BYTE, 1, i + 1, MPI_COMM_WORLD, &requests[i]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            for (int look = 0; look < LOOKS; look++) {
                int flag;
                MPI_Initialized(&flag);
                for (int i = 0; i < BLOCKS; i++) blocks[i][look] = memcpy(malloc(SIZE), expected, SIZE);
                usleep(50);
            }
            for (int look = 0; look < LOOKS; look++)
                for (int i = 0; i < BLOCKS; i++) {
                    wrong += memcmp(blocks[i][look], expected, SIZE) != 0;
                    free(blocks[i][look]);
                }
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    printf("%d: %d blocks were written to\n", rank, wrong);
    MPI_Finalize();
    return 0;
}
