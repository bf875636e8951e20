// More communicators than there is room for shadows; then few, once all are freed.
#include <mpi.h>
#include <stdio.h>

enum { MANY = 300, FEW = 6 };

static MPI_Comm comms[MANY];

static void make(int number, int rank)
{
    for (int i = 0; i < number; i++) {
        if (i < 130) {
            MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        } else if (i < 256) {
            MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &comms[i]);
        } else {
            MPI_Request request;
            MPI_Comm_idup(MPI_COMM_WORLD, &comms[i], &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
}

static long sums(int number)
{
    long sum = 0;
    for (int i = 0; i < number; i++) {
        int one = 1, all;
        MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comms[i]);
        sum += all;
        MPI_Comm_free(&comms[i]);
    }
    return sum;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    make(MANY, rank);
    long many = sums(MANY);
    make(FEW, rank);
    long few = sums(FEW);
    printf("%d: %ld %ld\n", rank, many, few);
    MPI_Finalize();
    return 0;
}
