//ranks: 2
//: MPI_Init 1
//: MPI_Finalize 1
//: MPI_Comm_rank 1
//: MPI_Send 16 4
//: MPI_Ssend 1 0
//: MPI_Rsend 1 0
//: MPI_Bsend 1 0
//: MPI_Isend 8 1
//: MPI_Issend 1 0
//: MPI_Ibsend 1 0
//: MPI_Irsend 1 0
//: MPI_Recv 2 11
//: MPI_Irecv 0 15
//: MPI_Wait 1 6
//: MPI_Waitall 6 1
//: MPI_Waitany 0 3
//: MPI_Testsome 0 *
//: MPI_Test 0 *
//: MPI_Send_init 1 0
//: MPI_Recv_init 0 1
//: MPI_Start 3 2
//: MPI_Startall 0 1
//: MPI_Request_free 1 2
//: MPI_Probe 0 1
//: MPI_Iprobe 0 *
//: MPI_Mprobe 0 1
//: MPI_Improbe 0 *
//: MPI_Mrecv 0 1
//: MPI_Imrecv 0 1
//: MPI_Sendrecv 3
//: MPI_Sendrecv_replace 1
//: MPI_Cancel 0 1
//: MPI_Test_cancelled 0 1
//: MPI_Get_count 0 1
//: MPI_Buffer_attach 1 0
//: MPI_Buffer_detach 1 0
//: MPI_Barrier 2
//: MPI_Comm_set_errhandler 0 1
//: MPI_Error_class 0 1
//: unpaired 0
//: uncovered 1 0
/* Every way to send and receive between two ranks, with awkward orders. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank;
static int values[64];
#define WORLD MPI_COMM_WORLD

static void send(int value, int tag) { MPI_Send(&value, 1, MPI_INT, 1, tag, WORLD); }
static int receive(int source, int tag) {
    int value = -1;
    MPI_Recv(&value, 1, MPI_INT, source, tag, WORLD, MPI_STATUS_IGNORE);
    return value;
}

static void sender(void) {
    static char room[4096];
    MPI_Request requests[8];
    int value;
    MPI_Buffer_attach(room, sizeof room);
    value = 1; MPI_Ssend(&value, 1, MPI_INT, 1, 1, WORLD);
    value = 2; MPI_Bsend(&value, 1, MPI_INT, 1, 1, WORLD);
    value = 3; MPI_Send(&value, 1, MPI_INT, 1, 1, WORLD);
    static int four = 4, five = 5, six = 6;
    MPI_Issend(&four, 1, MPI_INT, 1, 1, WORLD, &requests[0]);
    MPI_Ibsend(&five, 1, MPI_INT, 1, 1, WORLD, &requests[1]);
    MPI_Isend(&six, 1, MPI_INT, 1, 1, WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(WORLD);                       /* the receives for the ready ones are posted */
    value = 7; MPI_Rsend(&value, 1, MPI_INT, 1, 2, WORLD);
    static int eight = 8;
    MPI_Irsend(&eight, 1, MPI_INT, 1, 2, WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    for (int i = 0; i < 4; i++) send(100 + i, 3);   /* received out of order */
    for (int i = 0; i < 3; i++) send(200 + i, 4);   /* Waitany, wildcards */
    static int many[4] = {300, 301, 302, 303};
    for (int i = 0; i < 4; i++) MPI_Isend(&many[i], 1, MPI_INT, 1, 5, WORLD, &requests[i]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    static int kept;
    MPI_Send_init(&kept, 1, MPI_INT, 1, 6, WORLD, &requests[0]);
    for (int i = 0; i < 3; i++) {
        kept = 400 + i;
        MPI_Start(&requests[0]);
        MPI_Waitall(1, &requests[0], MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    send(500, 7); send(501, 7); send(502, 7); send(503, 7);           /* probes */
    MPI_Send(values, 10, MPI_INT, 1, 8, WORLD);                       /* truncated */
    send(600, 9);                                                     /* after the cancelled one */
    send(700, 10);                                                    /* received by a request that was freed */
    MPI_Isend(&four, 1, MPI_INT, MPI_PROC_NULL, 1, WORLD, &requests[0]);
    MPI_Isend(&four, 1, MPI_INT, MPI_PROC_NULL, 1, WORLD, &requests[1]);
    MPI_Isend(&four, 1, MPI_INT, MPI_PROC_NULL, 1, WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    send(701, 10);
    MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, WORLD, MPI_STATUS_IGNORE);
    void *address; int size;
    MPI_Buffer_detach(&address, &size);
    MPI_Recv(&value, 1, MPI_INT, 1, MPI_ANY_TAG, WORLD, MPI_STATUS_IGNORE);
}

static void receiver(void) {
    MPI_Request requests[8];
    MPI_Status status, statuses[8];
    int got[8] = {0}, index, flag, count, sum = 0;
    for (int i = 0; i < 6; i++) sum = 10 * sum + receive(i % 2 ? MPI_ANY_SOURCE : 0, i % 3 ? MPI_ANY_TAG : 1);
    printf("sent one by one %d\n", sum);
    MPI_Irecv(&got[0], 1, MPI_INT, 0, 2, WORLD, &requests[0]);
    MPI_Irecv(&got[1], 1, MPI_INT, 0, 2, WORLD, &requests[1]);
    MPI_Barrier(WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    printf("ready %d %d\n", got[0], got[1]);
    for (int i = 0; i < 4; i++) MPI_Irecv(&got[i], 1, MPI_INT, i == 1 ? MPI_ANY_SOURCE : 0, 3, WORLD, &requests[i]);
    for (int i = 3; i >= 0; i--) MPI_Wait(&requests[i], i == 2 ? &status : MPI_STATUS_IGNORE);
    printf("out of order %d %d %d %d\n", got[0], got[1], got[2], got[3]);
    for (int i = 0; i < 3; i++) MPI_Irecv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &requests[i]);
    for (int i = 0; i < 3; i++) MPI_Waitany(3, requests, &index, &status);
    printf("any %d %d %d from %d\n", got[0], got[1], got[2], status.MPI_SOURCE);
    for (int i = 0; i < 3; i++) MPI_Irecv(&got[i], 1, MPI_INT, 0, 5, WORLD, &requests[i]);
    for (int done = 0; done < 3;) {
        int indices[3];
        MPI_Testsome(3, requests, &count, indices, done % 2 ? statuses : MPI_STATUSES_IGNORE);
        if (count > 0) done += count;
    }
    MPI_Irecv(&got[3], 1, MPI_INT, 0, 5, WORLD, &requests[3]);
    do MPI_Test(&requests[3], &flag, MPI_STATUS_IGNORE); while (!flag);
    printf("some %d %d %d %d\n", got[0], got[1], got[2], got[3]);
    int kept;
    MPI_Recv_init(&kept, 1, MPI_INT, 0, MPI_ANY_TAG, WORLD, &requests[0]);
    for (int i = 0; i < 3; i++) {
        if (i == 1) MPI_Startall(1, requests); else MPI_Start(&requests[0]);
        do MPI_Test(&requests[0], &flag, &status); while (!flag);
        printf("persistent %d with tag %d\n", kept, status.MPI_TAG);
    }
    MPI_Request_free(&requests[0]);
    MPI_Probe(MPI_ANY_SOURCE, 7, WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    printf("probed %d ints: %d\n", count, receive(status.MPI_SOURCE, status.MPI_TAG));
    do MPI_Iprobe(0, 7, WORLD, &flag, MPI_STATUS_IGNORE); while (!flag);
    printf("asked: %d\n", receive(0, 7));
    MPI_Message message;
    MPI_Mprobe(0, 7, WORLD, &message, &status);
    MPI_Mrecv(&got[0], 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    do MPI_Improbe(MPI_ANY_SOURCE, 7, WORLD, &flag, &message, MPI_STATUS_IGNORE); while (!flag);
    MPI_Imrecv(&got[1], 1, MPI_INT, &message, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    printf("matched %d %d\n", got[0], got[1]);
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
    int class, error = MPI_Recv(got, 1, MPI_INT, 0, 8, WORLD, &status);
    MPI_Error_class(error, &class);
    printf("truncated: %d\n", class == MPI_ERR_TRUNCATE);
    MPI_Irecv(&got[0], 1, MPI_INT, 0, 99, WORLD, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], &status);
    MPI_Test_cancelled(&status, &flag);
    printf("cancelled %d, then %d\n", flag, receive(0, 9));
    got[0] = 0;
    MPI_Irecv(&got[0], 1, MPI_INT, 0, 10, WORLD, &requests[0]);
    MPI_Request_free(&requests[0]);
    printf("after a freed one %d\n", receive(0, 10));
    MPI_Send(&rank, 1, MPI_INT, MPI_PROC_NULL, 1, WORLD);
    MPI_Send(&rank, 1, MPI_INT, MPI_PROC_NULL, 1, WORLD);
    MPI_Send(&rank, 1, MPI_INT, 0, 77, WORLD);
    MPI_Isend(&rank, 0, MPI_INT, MPI_PROC_NULL, 1, WORLD, &requests[0]);
    MPI_Send(&rank, 1, MPI_INT, MPI_PROC_NULL, 1, WORLD);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    if (rank == 0) sender(); else receiver();
    int other = 1 - rank, mine = 10 + rank, theirs = 0;
    for (int i = 0; i < 2; i++)
        MPI_Sendrecv(&mine, 1, MPI_INT, other, 20, &theirs, 1, MPI_INT, i ? other : MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&mine, 1, MPI_INT, MPI_PROC_NULL, 20, &theirs, 1, MPI_INT, MPI_PROC_NULL, 20, WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(&mine, 1, MPI_INT, other, 21, other, 21, WORLD, MPI_STATUS_IGNORE);
    printf("rank %d exchanged %d %d\n", rank, theirs, mine);
    MPI_Barrier(WORLD);
    MPI_Finalize();
    return 0;
}
