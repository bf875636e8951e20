//ranks: 2
//: MPI_Init_thread 1
//: MPI_Finalize 1
//: MPI_Comm_rank 1
//: MPI_Comm_dup 4
//: MPI_Comm_free 4
//: MPI_Send 2000 2000
//: MPI_Irecv 2000
//: MPI_Wait 2000
//: MPI_Barrier 1
//: unpaired 0
//: uncovered 0
/* Four threads a rank, each with a communicator of its own. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

static int rank;
static MPI_Comm comms[4];
static long sums[4];

static void *work(void *argument) {
    int me = (int)(long)argument, mine, got;
    for (int i = 0; i < 500; i++) {
        MPI_Request request;
        mine = i + rank;
        MPI_Irecv(&got, 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : 1 - rank, i % 3, comms[me], &request);
        MPI_Send(&mine, 1, MPI_INT, 1 - rank, i % 3, comms[me]);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sums[me] += got;
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    pthread_t threads[4];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 4; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("%d: %d %ld %ld\n", rank, provided == MPI_THREAD_MULTIPLE, sums[0], sums[3]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 4; i++) MPI_Comm_free(&comms[i]);
    MPI_Finalize();
    return 0;
}
