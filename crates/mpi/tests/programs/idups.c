//ranks: 3
//: MPI_Init_thread 1
//: MPI_Finalize 1
//: MPI_Comm_rank 1
//: MPI_Comm_dup 3
//: MPI_Comm_idup 13
//: MPI_Wait 13
//: MPI_Barrier 14
//: MPI_Comm_free 16
//: unpaired 0
//: uncovered 12
/* The first thread starts to make a communicator, which has a shadow; then three threads a rank do at once. Theirs have none, as where the call
   itself makes them: their barriers are not covered. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 3, ROUNDS = 4 };
static MPI_Comm comms[THREADS];

static void make(MPI_Comm from) {
    MPI_Comm made;
    MPI_Request request;
    MPI_Comm_idup(from, &made, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(made);
    MPI_Comm_free(&made);
}

static void *work(void *from) {
    for (int i = 0; i < ROUNDS; i++) make(*(MPI_Comm *)from);
    return NULL;
}

int main(int argc, char **argv) {
    int provided, rank;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    make(MPI_COMM_WORLD);
    for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, &comms[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    printf("%d: %d\n", rank, provided == MPI_THREAD_MULTIPLE);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < THREADS; i++) MPI_Comm_free(&comms[i]);
    MPI_Finalize();
    return 0;
}
