/* What operations of MPI on small messages take, in nanoseconds each: the median of many blocks, on rank 0 of two. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 101, EACH = 200, MOST = 1024 };

static char out[MOST], in[MOST];
static int rank, other, sum;
/* What is asked for in vain. */
static MPI_Request never = MPI_REQUEST_NULL;

static void ping_pong(int bytes) {
    for (int turn = 0; turn < 2; turn++)
        if (turn == rank) MPI_Send(out, bytes, MPI_CHAR, other, 1, MPI_COMM_WORLD);
        else MPI_Recv(in, bytes, MPI_CHAR, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void exchange(int bytes) {
    MPI_Request both[2];
    MPI_Irecv(in, bytes, MPI_CHAR, other, 2, MPI_COMM_WORLD, &both[0]);
    MPI_Isend(out, bytes, MPI_CHAR, other, 2, MPI_COMM_WORLD, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
}

static void reduce(int bytes) { MPI_Allreduce(&bytes, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }

static void broadcast(int bytes) { MPI_Bcast(out, bytes, MPI_CHAR, 0, MPI_COMM_WORLD); }

static void meet(int bytes) {
    (void)bytes;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void ask(int bytes) {
    int index, flag;
    if (never == MPI_REQUEST_NULL) MPI_Irecv(in, bytes, MPI_CHAR, other, 3, MPI_COMM_WORLD, &never);
    MPI_Testany(1, &never, &index, &flag, MPI_STATUS_IGNORE);
}

static const struct {
    const char *name;
    void (*run)(int bytes);
    /* Operations of a run. */
    int bytes, times;
} KERNELS[] = {
    {"ping-pong of 8 bytes, one way", ping_pong, 8, 2},
    {"ping-pong of 1 KiB, one way", ping_pong, 1024, 2},
    {"MPI_Irecv, MPI_Isend, MPI_Waitall, 8 bytes", exchange, 8, 1},
    {"MPI_Barrier", meet, 0, 1},
    {"MPI_Bcast, 8 bytes", broadcast, 8, 1},
    {"MPI_Allreduce, 4 bytes", reduce, 4, 1},
    {"MPI_Testany in vain", ask, 8, 1},
};

static int ascending(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    for (size_t kernel = 0; kernel < sizeof KERNELS / sizeof *KERNELS; kernel++) {
        static double took[BLOCKS];
        for (int block = 0; block < BLOCKS; block++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double begin = MPI_Wtime();
            for (int i = 0; i < EACH; i++) KERNELS[kernel].run(KERNELS[kernel].bytes);
            took[block] = (MPI_Wtime() - begin) / EACH / KERNELS[kernel].times;
        }
        qsort(took, BLOCKS, sizeof *took, ascending);
        if (rank == 0) printf("%s\t%.1f\n", KERNELS[kernel].name, 1e9 * took[BLOCKS / 2]);
    }
    /* What was never sent is sent now, so that nothing is left under way; no sooner than nobody asks for it any more. */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(out, 8, MPI_CHAR, other, 3, MPI_COMM_WORLD);
    MPI_Wait(&never, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
