//ranks: 4
//: MPI_Init 1
//: MPI_Finalize 1
//: MPI_Comm_rank 1
//: MPI_Iallreduce 40
//: MPI_Ibarrier 140
//: MPI_Waitall 41
//: unpaired 0
//: uncovered 0
/* Collectives that are started, of which one member again and again stands still within the library; and many at once. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

static const struct itimerval soon = {{0, 0}, {0, 200}};
static void stand_still(int signal) {
    usleep(10000);
    setitimer(ITIMER_REAL, &soon, NULL);
}

int main(int argc, char **argv) {
    int rank, one = 1, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarms, NULL);
    if (rank == 1) {
        signal(SIGALRM, stand_still);
        setitimer(ITIMER_REAL, &soon, NULL);
    }
    for (int round = 0; round < 40; round++) {
        MPI_Request requests[2];
        MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
        sigprocmask(SIG_UNBLOCK, &alarms, NULL);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        sigprocmask(SIG_BLOCK, &alarms, NULL);
    }
    MPI_Request many[100];
    for (int i = 0; i < 100; i++) MPI_Ibarrier(MPI_COMM_WORLD, &many[i]);
    MPI_Waitall(100, many, MPI_STATUSES_IGNORE);
    printf("%d: %d\n", rank, sum);
    MPI_Finalize();
    return 0;
}
