//ranks: 2
/* A program of sessions that begins with processes of their own, and meets others later: MPICH has no MPI_COMM_WORLD before. */
//: MPI_Session_init 1
//: MPI_Group_from_session_pset 3
//: MPI_Comm_create_from_group 3
//: MPI_Comm_rank 1
//: MPI_Group_free 3
//: MPI_Irecv 1
//: MPI_Wait 1
//: MPI_Send 2 1
//: MPI_Recv 0 1
//: MPI_Allreduce 1
//: MPI_Comm_free 3
//: MPI_Session_finalize 1
//: uncovered 0
#include <mpi.h>
#include <stdio.h>

static MPI_Comm members(MPI_Session session, const char *set) {
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, set, &group);
    MPI_Comm_create_from_group(group, set, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

int main(void) {
    MPI_Session session;
    MPI_Request request;
    int rank, value = 7, mine = 0, sum;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Comm myself = members(session, "mpi://SELF");
    MPI_Irecv(&mine, 1, MPI_INT, 0, 3, myself, &request);
    MPI_Send(&value, 1, MPI_INT, 0, 3, myself);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&myself);
    MPI_Comm all = members(session, "mpi://WORLD");
    MPI_Comm_free(&all);
    all = members(session, "mpi://WORLD");
    MPI_Comm_rank(all, &rank);
    if (rank == 0) MPI_Send(&mine, 1, MPI_INT, 1, 5, all);
    else MPI_Recv(&value, 1, MPI_INT, 0, 5, all, MPI_STATUS_IGNORE);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, all);
    printf("rank %d: %d\n", rank, sum);
    MPI_Comm_free(&all);
    MPI_Session_finalize(&session);
    return 0;
}
