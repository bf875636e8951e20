//ranks: 4
//: MPI_Init 1
//: MPI_Finalize 1
//: MPI_Comm_rank 1
//: MPI_Comm_split 1
//: MPI_Open_port 1 0 0 0
//: MPI_Close_port 1 0 0 0
//: MPI_Bcast 1
//: MPI_Comm_accept 1 0 1 0
//: MPI_Comm_connect 0 1 0 1
//: MPI_Comm_join 1 1 0 0
//: MPI_Sendrecv 1
//: MPI_Send 1 0 0 0
//: MPI_Recv 0 1 0 0
//: MPI_Sendrecv_replace 1 1 0 0
//: MPI_Intercomm_merge 1
//: MPI_Reduce 1
//: MPI_Comm_free 2
//: MPI_Comm_disconnect 2 2 1 1
//: unpaired 0
//: uncovered 0
/* Processes of one world that connect with each other: over a port, and two of them over a socket. */
#include <mpi.h>
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A socket between rank 0 and rank 1, and who listens for it. */
static int socket_of(int rank) {
    int listener, connected;
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof place;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (rank == 0) {
        bind(listener, (void *)&place, sizeof place);
        listen(listener, 1);
        getsockname(listener, (void *)&place, &length);
        MPI_Send(&place, sizeof place, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        connected = accept(listener, NULL, NULL);
        close(listener);
        return connected;
    }
    MPI_Recv(&place, sizeof place, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    connect(listener, (void *)&place, sizeof place);
    return listener;
}

int main(int argc, char **argv) {
    int rank, got = -1, sum = 0;
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm half, bridge, all, pair;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank % 2) MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &bridge);
    else MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &bridge);
    if (rank == 0) MPI_Close_port(port);
    MPI_Sendrecv(&rank, 1, MPI_INT, rank / 2, 5, &got, 1, MPI_INT, rank / 2, 5, bridge, MPI_STATUS_IGNORE);
    MPI_Intercomm_merge(bridge, rank % 2, &all);
    MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 3, all);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&bridge);
    MPI_Comm_free(&half);
    if (rank < 2) {
        int connected = socket_of(rank), word = rank + 20;
        MPI_Comm_join(connected, &pair);
        MPI_Sendrecv_replace(&word, 1, MPI_INT, 0, 1, 0, 1, pair, MPI_STATUS_IGNORE);
        printf("%d: met %d\n", rank, word);
        MPI_Comm_disconnect(&pair);
        close(connected);
    }
    printf("%d: %d %d\n", rank, got, sum);
    MPI_Finalize();
    return 0;
}
