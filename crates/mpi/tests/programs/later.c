//options: -Wl,--as-needed
/* A program that is linked to no MPI and looks for one while it runs, as interpreters do: in the whole process first. */
//: MPI_Init 1
//: MPI_Comm_rank 1
//: MPI_Barrier 3
//: MPI_Finalize 1
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

#if defined(OPEN_MPI)
#define LIBRARY "libmpi.so.40"
#elif defined(MPI_ABI_VERSION)
#define LIBRARY "libmpi_abi.so.1"
#else
#define LIBRARY "libmpich.so.12"
#endif

int main(void)
{
    void *library = dlopen(NULL, RTLD_LAZY);
    if (!dlsym(library, "MPI_Get_version"))
        library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    int (*abi_version)(int *, int *) = (int (*)(int *, int *))dlsym(library, "MPI_Abi_get_version");
    int major = -1, minor = -1;
    if (abi_version && abi_version(&major, &minor))
        return 1;
#if defined(OPEN_MPI)
    MPI_Comm world = dlsym(library, "ompi_mpi_comm_world");
#else
    MPI_Comm world = MPI_COMM_WORLD;
#endif
    int rank;
    ((int (*)(int *, char ***))dlsym(library, "MPI_Init"))(NULL, NULL);
    ((int (*)(MPI_Comm, int *))dlsym(library, "MPI_Comm_rank"))(world, &rank);
    for (int i = 0; i < 3; i++)
        ((int (*)(MPI_Comm))dlsym(library, "MPI_Barrier"))(world);
    printf("rank %d, ABI %d, large counts %s\n", rank, major, dlsym(library, "MPI_Send_c") ? "are there" : "are absent");
    ((int (*)(void))dlsym(library, "MPI_Finalize"))();
    return 0;
}
