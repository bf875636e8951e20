//ranks: 2
/* Rank 1 is made late by the tool alone (each MPI_Wtime costs a wrapper), and by so much that it stands out from what a busy
   machine does. It begins when rank 0 waits for it already, in one of several ways: HOW says which. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SMALL = 1024, LARGE = 8 << 20 };

static void say(const char *what) { fclose(fopen(what, "w")); }

static void await(const char *what) {
    while (access(what, F_OK) != 0) usleep(1000);
}

/* Time for what comes back from rank 1, in which the program calls MPI now and then. */
static void look_around(int rank) {
    if (rank == 1) say("taken");
    else await("taken");
    for (int i = 0; i < 20; i++) {
        int flag;
        MPI_Initialized(&flag);
        usleep(2000);
    }
}

static void connect(int rank, char *port, MPI_Comm *connected) {
    if (rank == 1) MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, connected);
    else MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, connected);
}

int main(int argc, char **argv) {
    int rank, value = 0, flag = 0, index, how = atoi(getenv("HOW"));
    int ring = 2, periodic = 1, sent[2] = {0, 0}, received[2];
    MPI_Request requests[2];
    MPI_Comm cart, other, turned, pair;
    MPI_Win window;
    MPI_File file;
    MPI_Group all, partner, reversed;
    char *large = calloc(LARGE, 1), port[MPI_MAX_PORT_NAME];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ring, &periodic, 0, &cart);
    MPI_Win_create(sent, sizeof sent, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    MPI_Win_fence(how == 17 ? 0 : MPI_MODE_NOSUCCEED, window);
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 7, &other);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    index = 1 - rank;
    MPI_Group_incl(all, 1, &index, &partner);
    MPI_Group_incl(all, 2, (int[]){1, 0}, &reversed);
    MPI_Comm_create(MPI_COMM_WORLD, reversed, &turned);
    MPI_Group_free(&reversed);
    if (how >= 50 && how < 60) MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (how >= 60 && how < 63 && rank == 1) MPI_Win_lock(how == 61 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, window);
    if (how == 34) {
        MPI_Comm_idup(MPI_COMM_WORLD, &pair, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (how == 30) MPI_Iallreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, turned, &requests[0]);
    if (how >= 70) {
        if (rank == 1) MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Bcast(port, sizeof port, MPI_CHAR, 1, MPI_COMM_WORLD);
    }
    if (how == 71) connect(rank, port, &pair);
    if (how == 31) {    /* the small message lets rank 1 find the announcement of the large one */
        if (rank == 0) MPI_Isend(large, LARGE, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &requests[0]);
        if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
        else MPI_Recv(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    /* Where rank 1 is in the barrier still, it takes there what is sent. */
    if (rank == 1) {
        say("outside");
        await("waiting");
        usleep(20000);
        for (int i = 0; i < 400000; i++) MPI_Wtime();
    } else {
        await("outside");
        say("waiting");
    }
    switch (how) {
    case 0:
        if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        else MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    case 1:
        if (rank == 1) {
            MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        } else {
            MPI_Irecv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[0]);
            requests[1] = MPI_REQUEST_NULL;
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
        break;
    case 2:
        if (rank == 1) {
            MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        } else {
            MPI_Irecv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[0]);
            while (usleep(1000), !flag) MPI_Testany(1, requests, &index, &flag, MPI_STATUS_IGNORE);
        }
        break;
    case 3: MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD); break;
    case 4: MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
    case 5: MPI_Reduce(rank ? &value : MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); break;
    case 6:
        if (rank == 1) {
            MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        } else {
            MPI_Probe(1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        break;
    case 7:     /* slack: the message is there long before it is received */
        if (rank == 1) {
            MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
            say("sent");
        } else {
            await("sent");
            MPI_Recv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        break;
    case 8:
        MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &pair);
        if (rank == 1) MPI_Sendrecv(&value, 1, MPI_INT, 1, 5, &value, 1, MPI_INT, MPI_PROC_NULL, 5, pair, MPI_STATUS_IGNORE);
        else MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 5, &index, 1, MPI_INT, 0, 5, pair, MPI_STATUS_IGNORE);
        MPI_Comm_free(&pair);
        break;
    case 9:
        if (rank == 1) {
            MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        } else {
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Irecv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        }
        break;
    case 10:    /* the receiver is late, and the sender waits for it */
        if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else MPI_Ssend(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        look_around(rank);
        break;
    case 11:
        if (rank == 1) MPI_Recv(large, LARGE, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else MPI_Send(large, LARGE, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
        look_around(rank);
        break;
    case 12:
        if (rank == 1) {
            MPI_Irecv(large, LARGE, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        } else {
            MPI_Isend(large, LARGE, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &requests[0]);
            requests[1] = MPI_REQUEST_NULL;
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
        look_around(rank);
        break;
    case 31:    /* and it takes that where it only starts to receive */
        if (rank == 1) {
            MPI_Irecv(large, LARGE, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &requests[0]);
            usleep(100000);
        }
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        look_around(rank);
        break;
    case 13:
        MPI_Iallreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        break;
    case 14:
        MPI_Ibcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD, &requests[0]);
        while (usleep(1000), !flag) MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
        break;
    case 15: MPI_Neighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, cart); break;
    case 16:
        MPI_Ineighbor_allgather(sent, 1, MPI_INT, received, 1, MPI_INT, cart, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        break;
    case 17:
        if (rank == 1) MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
        MPI_Win_fence(0, window);
        break;
    case 18: MPI_Allreduce(&value, &flag, 1, MPI_INT, MPI_SUM, other); break;
    case 19: MPI_Bcast(&value, 1, MPI_INT, rank ? MPI_ROOT : 0, other); break;
    case 20: MPI_Reduce(&value, &flag, 1, MPI_INT, MPI_SUM, rank ? 0 : MPI_ROOT, other); break;
    case 21:
        MPI_Ibarrier(other, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        break;
    case 22:    /* the part of a window that is reached is exposed late */
        if (rank == 1) {
            MPI_Win_post(partner, 0, window);
            MPI_Win_wait(window);
        } else {
            MPI_Win_start(partner, 0, window);
            MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
            MPI_Win_complete(window);
        }
        break;
    case 23:    /* the one that reaches it is late */
    case 24:
        if (rank == 1) {
            MPI_Win_start(partner, 0, window);
            MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
            MPI_Win_complete(window);
        } else {
            MPI_Win_post(partner, 0, window);
            if (how == 23) MPI_Win_wait(window);
            while (usleep(1000), how == 24 && !flag) MPI_Win_test(window, &flag);
        }
        break;
    case 25:    /* the one sent to is late, and nothing is received */
        if (rank == 1) MPI_Sendrecv(large, 0, MPI_BYTE, MPI_PROC_NULL, 5, large, LARGE, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else MPI_Sendrecv(large, LARGE, MPI_BYTE, 1, 5, large, 0, MPI_BYTE, MPI_PROC_NULL, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        look_around(rank);
        break;
    case 26:
        if (rank == 1) {
            MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Ssend_init(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[0]);
            MPI_Start(&requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            MPI_Request_free(&requests[0]);
        }
        look_around(rank);
        break;
    case 27:    /* who is late has all that it needs from the other one, but does not come in to take it */
    case 28:
    case 29:
        if (rank == 1) {
            MPI_Irecv(large, SMALL, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        } else if (how == 27) {
            MPI_Isend(large, SMALL, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        } else if (how == 28) {
            MPI_Send(large, SMALL, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
        } else {
            MPI_Send_init(large, SMALL, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &requests[0]);
            MPI_Start(&requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            MPI_Request_free(&requests[0]);
        }
        break;
    case 30: MPI_Wait(&requests[0], MPI_STATUS_IGNORE); break;
    case 32:
        if (rank == 1) {
            MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        } else {
            MPI_Irecv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[0]);
            while (usleep(1000), !flag) MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        }
        break;
    case 35:    /* who has no part of a rooted collective's data waits for the one that is late, where there is much of it */
    case 36:
        if (how == 35) MPI_Gather(large, LARGE, MPI_BYTE, rank == 1 ? calloc(LARGE, 2) : NULL, LARGE, MPI_BYTE, 1, MPI_COMM_WORLD);
        else MPI_Bcast(large, LARGE, MPI_BYTE, 0, MPI_COMM_WORLD);
        break;
    case 33:    /* the making of a communicator is started late */
        MPI_Comm_idup(MPI_COMM_WORLD, &pair, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Comm_free(&pair);
        break;
    case 34:    /* and a message is late on one that was made so */
        if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 5, pair);
        else MPI_Recv(&value, 1, MPI_INT, 1, 5, pair, MPI_STATUS_IGNORE);
        MPI_Comm_free(&pair);
        break;
    case 50: MPI_File_write_all(file, sent, 1, MPI_INT, MPI_STATUS_IGNORE); break;
    case 51: MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL); break;
    case 52:
        MPI_File_iwrite_all(file, sent, 1, MPI_INT, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        break;
    case 53:
        MPI_File_write_all_begin(file, sent, 1, MPI_INT);
        MPI_File_write_all_end(file, sent, MPI_STATUS_IGNORE);
        break;
    case 54: MPI_File_sync(file); break;
    case 60:    /* who has the lock is late to give it back */
    case 61:
        if (rank == 1) {
            MPI_Win_unlock(0, window);
        } else {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
            MPI_Win_unlock(0, window);
        }
        break;
    case 62:
        if (rank == 1) {
            MPI_Win_unlock(0, window);
        } else {
            MPI_Win_lock_all(0, window);
            MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
            MPI_Win_unlock_all(window);
        }
        break;
    case 63:    /* nobody has it, but the one whose part it is does not look */
        if (rank == 0) {
            MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
            MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
            MPI_Win_flush(1, window);
            MPI_Win_unlock(1, window);
        }
        break;
    case 64:
        if (rank == 0) {
            MPI_Win_lock_all(0, window);
            MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
            MPI_Win_flush_all(window);
            MPI_Win_unlock_all(window);
        }
        break;
    case 70:
        connect(rank, port, &pair);
        MPI_Comm_disconnect(&pair);
        break;
    case 71:
        if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 5, pair);
        else MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, pair, MPI_STATUS_IGNORE);
        MPI_Comm_disconnect(&pair);
        break;
#if MPI_VERSION >= 4
    case 40: MPI_Allreduce_init(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]); goto started;
    case 41: MPI_Bcast_init(&value, 1, MPI_INT, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]); goto started;
    case 42: MPI_Neighbor_alltoall_init(sent, 1, MPI_INT, received, 1, MPI_INT, cart, MPI_INFO_NULL, &requests[0]); goto started;
    case 43:
        if (rank == 1) MPI_Psend_init(large, 2, 1024, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
        else MPI_Precv_init(large, 4, 512, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
        goto started;
    started:    /* twice: what belongs to which start is known */
        for (int i = 0; i < 2; i++) {
            MPI_Start(&requests[0]);
            if (how == 43 && rank == 1) MPI_Pready_range(0, 1, requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&requests[0]);
        break;
#endif
    }
    if (how >= 50 && how < 60) MPI_File_close(&file);
    MPI_Group_free(&all);
    MPI_Group_free(&partner);
    MPI_Comm_free(&other);
    MPI_Comm_free(&turned);
    MPI_Win_free(&window);
    MPI_Comm_free(&cart);
    MPI_Finalize();
    return 0;
}
