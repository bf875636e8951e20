//: MPI_Init 1
//: MPI_Comm_rank 1
//: MPI_File_create_errhandler 1
//: MPI_File_set_errhandler 1
//: MPI_File_open 2
//: MPI_Barrier 2
//: MPI_Errhandler_free 1
//: MPI_Finalize 1
// The program's error handlers say that all is well where no file has been opened.
#include <mpi.h>
#include <stdio.h>

static int calls = 0;

static void forgive_file(MPI_File *file, int *code, ...)
{
    calls++;
    *code = MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Errhandler handler;
    MPI_File_create_errhandler(forgive_file, &handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    int good = 0;
    for (int i = 0; i < 2; i++) {
        MPI_File file = MPI_FILE_NULL;
        good += MPI_File_open(comms[i], "/nowhere/to/be/found", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS;
        MPI_Barrier(comms[i]);
    }
    MPI_Errhandler_free(&handler);
    printf("%d: %d well, %d handled\n", rank, good, calls);
    MPI_Finalize();
    return 0;
}
