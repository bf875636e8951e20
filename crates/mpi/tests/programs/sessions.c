//ranks: 2
/* A program of sessions alone: no MPI_Init, no MPI_COMM_WORLD. */
//: MPI_Session_init 2
//: MPI_Group_from_session_pset 1
//: MPI_Comm_create_from_group 1
//: MPI_Comm_rank 1
//: MPI_Group_free 1
//: MPI_Send 1 0
//: MPI_Recv 0 1
//: MPI_Allreduce 1
//: MPI_Comm_free 1
//: MPI_Session_finalize 2
//: uncovered 0
#include <mpi.h>
#include <stdio.h>

int main(void) {
    MPI_Session first, second;
    MPI_Group group;
    MPI_Comm all;
    int rank, value = 7, sum;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &first);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &second);
    MPI_Group_from_session_pset(first, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &all);
    MPI_Group_free(&group);
    MPI_Comm_rank(all, &rank);
    if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 5, all);
    else MPI_Recv(&value, 1, MPI_INT, 0, 5, all, MPI_STATUS_IGNORE);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, all);
    printf("rank %d: %d\n", rank, sum);
    MPI_Comm_free(&all);
    MPI_Session_finalize(&second);
    MPI_Session_finalize(&first);
    return 0;
}
