//ranks: 2
//spawns: 2
//: MPI_Init 1
//: MPI_Finalize 1
//: MPI_Comm_get_parent 1
//: MPI_Comm_rank 2
//: MPI_Comm_spawn 1 1 0 0
//: MPI_Comm_remote_size 1
//: MPI_Send 1 0 0 1
//: MPI_Ssend 0 1 1 0
//: MPI_Isend 0 0 0 1
//: MPI_Irecv 1
//: MPI_Recv 1 0 0 0
//: MPI_Wait 2 2 2 3
//: MPI_Allreduce 1
//: MPI_Bcast 2
//: MPI_Ibarrier 1
//: MPI_Intercomm_merge 1
//: MPI_Comm_free 1
//: MPI_Comm_disconnect 1
//: unpaired 0
//: uncovered 0
/* Two processes spawn two more: messages between them, collectives, and a communicator of all. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank, others, one = 1, sum = 0, word = -1, got = -1, inner;
    MPI_Comm parents, others_and_we, all;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parents);
    int is_child = parents != MPI_COMM_NULL;
    if (is_child) {
        others_and_we = parents;
    } else {
        char *words[] = {"first", "second word", NULL};
        MPI_Comm_spawn(argv[0], words, 2, MPI_INFO_NULL, 1, MPI_COMM_WORLD, &others_and_we, MPI_ERRCODES_IGNORE);
    }
    MPI_Comm_remote_size(others_and_we, &others);
    word = rank + (is_child ? 10 : 0);
    /* Parent 0 sends to child 1, child 0 to parent 1, parent 1 to child 0, and child 1 to parent 0 twice. */
    MPI_Irecv(&got, 1, MPI_INT, 1 - rank, 3, others_and_we, &request);
    if (rank == is_child) MPI_Send(&word, 1, MPI_INT, 1 - rank, 3, others_and_we);
    else MPI_Ssend(&word, 1, MPI_INT, 1 - rank, 3, others_and_we);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (is_child && rank == 1) {
        MPI_Isend(&word, 1, MPI_INT, 0, 4, others_and_we, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (!is_child && rank == 0) MPI_Recv(&sum, 1, MPI_INT, MPI_ANY_SOURCE, 4, others_and_we, MPI_STATUS_IGNORE);
    printf("%s %d of %d: %d arguments, the last is %s, got %d and %d\n", is_child ? "child" : "parent", rank, others, argc, is_child ? argv[argc - 1] : "", got, sum);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, others_and_we);
    MPI_Bcast(&word, 1, MPI_INT, is_child ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, others_and_we);
    MPI_Ibarrier(others_and_we, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Intercomm_merge(others_and_we, is_child, &all);
    MPI_Comm_rank(all, &inner);
    MPI_Bcast(&word, 1, MPI_INT, 3, all);
    MPI_Comm_free(&all);
    printf("%s %d: %d, %d, %d\n", is_child ? "child" : "parent", rank, sum, inner, word);
    fflush(stdout);
    MPI_Comm_disconnect(&others_and_we);
    MPI_Finalize();
    return 0;
}
