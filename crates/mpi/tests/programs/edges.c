//ranks: 2
//: MPI_Init 1
//: MPI_Finalize 1
//: MPI_Comm_rank 1
//: MPI_Comm_create_errhandler 1
//: MPI_Comm_set_errhandler 1
//: MPI_Errhandler_free 1
//: MPI_Send 4 0
//: MPI_Recv 0 4
//: MPI_Pcontrol 2
//: MPI_Wtime 1
//: MPI_Wtick 1
//: MPI_Get_address 2
//: mpich: MPI_Aint_diff 1
//: mpiabi: MPI_Aint_diff 1
//: MPI_Barrier 1
//: MPI_Initialized 1
//: unpaired 0
//: uncovered 0
/* Calls before MPI_Init and after MPI_Finalize, functions with other results, and an error handler that jumps. */
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>

static jmp_buf back;
static void jump(MPI_Comm *comm, int *error, ...) {
    int size;
    MPI_Comm_size(*comm, &size);    /* inside */
    longjmp(back, 1);
}

int main(int argc, char **argv) {
    int flag, rank, version, minor, value = 3, array[4];
    MPI_Initialized(&flag);
    MPI_Get_version(&version, &minor);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Initialized(&flag);
    MPI_Pcontrol(1);
    MPI_Pcontrol(2, "more", 3.0);
    double now = MPI_Wtime(), tick = MPI_Wtick();
    MPI_Aint first, last;
    MPI_Get_address(&array[0], &first);
    MPI_Get_address(&array[3], &last);
    printf("%d: %d %d %d\n", rank, flag, now >= 0 && tick > 0 && tick < 1, (int)MPI_Aint_diff(last, first));
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(jump, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Errhandler_free(&handler);
    if (rank == 0) {
        if (setjmp(back) == 0) MPI_Send(&value, 1, MPI_INT, 77, 0, MPI_COMM_WORLD);
        else printf("jumped\n");
    }
    for (int i = 0; i < 3; i++) {
        if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
        else MPI_Recv(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 1) MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    MPI_Finalized(&flag);
    printf("%d: finalized %d\n", rank, flag);
    return 0;
}
