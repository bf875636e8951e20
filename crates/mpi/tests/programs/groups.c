//ranks: 3
//: MPI_Init_thread 1
//: MPI_Finalize 1
//: MPI_Comm_rank 1
//: MPI_Comm_group 3
//: MPI_Group_range_incl 3
//: MPI_Group_free 6
//: MPI_Comm_create_group 24 24 12
//: MPI_Comm_dup 15
//: MPI_Comm_free 39 39 27
//: MPI_Barrier 37 37 25
//: unpaired 0
//: uncovered 60 60 36
/* Three threads a rank that make communicators at once: of two ranks, of all, and, holding a lock, of each for itself. Their shadows may wait for each
   other in Open MPI, and are left out: their barriers, and the making of those of several, are not covered. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 3, ROUNDS = 4 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static MPI_Comm comms[THREADS];
static int rank;

static void use(MPI_Comm made) {
    MPI_Barrier(made);
    MPI_Comm_free(&made);
}

static void *work(void *argument) {
    int me = (int)(long)argument, range[1][3] = {{0, 1, 1}};
    MPI_Group all, some;
    MPI_Comm_group(comms[me], &all);
    MPI_Group_range_incl(all, 1, range, &some);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Comm made;
        if (rank <= 1) {
            MPI_Comm_create_group(comms[me], some, me, &made);
            use(made);
        }
        MPI_Comm_create_group(comms[me], all, me, &made);
        use(made);
        pthread_mutex_lock(&lock);
        MPI_Comm_dup(MPI_COMM_SELF, &made);
        pthread_mutex_unlock(&lock);
        use(made);
    }
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    printf("%d: %d\n", rank, provided == MPI_THREAD_MULTIPLE);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < THREADS; i++) MPI_Comm_free(&comms[i]);
    MPI_Finalize();
    return 0;
}
