//ranks: 2
//: MPI_Init 1
//: MPI_Finalize 1
//: MPI_Comm_get_parent 1
//: MPI_Comm_rank 1
//: MPI_Info_create 1
//: MPI_Info_set 1
//: MPI_Info_free 1
//: MPI_Comm_spawn 1
//: MPI_Send 1 0
//: MPI_Intercomm_merge 1
//: MPI_Allreduce 1
//: MPI_Comm_free 1
//: MPI_Comm_disconnect 1
//: unpaired 0
//: uncovered 4 3
/* A process that is not measured is spawned, as hints say where it is to run. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, one = 1, sum = 0;
    char here[4096];
    MPI_Comm between, all;
    MPI_Info info;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&between);
    int is_child = between != MPI_COMM_NULL;
    if (is_child) {
        MPI_Recv(&sum, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, between, MPI_STATUS_IGNORE);
    } else {
        MPI_Info_create(&info);
        MPI_Info_set(info, "wdir", getcwd(here, sizeof here));
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, info, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
        MPI_Info_free(&info);
        if (rank == 0) MPI_Send(&one, 1, MPI_INT, 0, 3, between);
    }
    MPI_Intercomm_merge(between, is_child, &all);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    printf("%d: %d\n", rank, sum);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&between);
    MPI_Finalize();
    return 0;
}
