/* Rank 1 is killed while it is in MPI_Finalize, which calls `leave` first. */
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

static int leave(MPI_Comm comm, int key, void *value, void *extra)
{
    usleep(500000);
    return raise(SIGKILL);
}

int main(int argc, char **argv)
{
    int rank, key;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, leave, &key, 0);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
