//ranks: 2
//: MPI_Init 1
//: MPI_Finalize 1
//: MPI_Comm_rank 1
//: MPI_Send 4500 1500
//: MPI_Recv 1500 4500
//: MPI_Iprobe 0 *
//: unpaired 0
//: uncovered 0
/* A sender is so far ahead that the memory in which it tells when it sent is full, twice over. What comes then, of streams that began
   before, is told in another way, in the order of each stream. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { AHEAD = 1500 };

int main(int argc, char **argv) {
    int rank, value, flag = 0, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        for (int i = 0; i < 2 * AHEAD; i++) MPI_Send(&i, 1, MPI_INT, 1, 1 + i % 2, MPI_COMM_WORLD);
        fclose(fopen("sent", "w"));
        for (int i = 0; i < AHEAD; i++) {
            MPI_Send(&i, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong += value != i + 1;
        }
    } else {
        /* Where the library needs its receiver to make room, it does so here. */
        do MPI_Iprobe(0, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        while (access("sent", F_OK) != 0);
        for (int tag = 2; tag > 0; tag--)
            for (int i = tag - 1; i < 2 * AHEAD; i += 2) {
                MPI_Recv(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                wrong += value != i;
            }
        for (int i = 0; i < AHEAD; i++) {
            MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            value++;
            MPI_Send(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
        }
    }
    printf("%d: %d wrong\n", rank, wrong);
    MPI_Finalize();
}
