//ranks: 2
//: MPI_Init 1
//: MPI_Finalize 1
//: MPI_Comm_rank 1
//: MPI_File_open 1
//: MPI_File_set_view 1
//: MPI_File_write_at_all 1
//: MPI_File_read_at_all 1
//: MPI_File_write_shared 1
//: MPI_File_get_size 1
//: MPI_File_close 1
//: MPI_Barrier 2
//: unpaired 0
//: uncovered 0
/* What the library does inside its file functions is not the program's. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, value, back = -1;
    MPI_File file;
    MPI_Offset size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    value = 40 + rank;
    MPI_File_write_at_all(file, rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at_all(file, 1 - rank, &back, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_get_size(file, &size);
    printf("%d read %d\n", rank, back);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
