//ranks: 1
/* A program that asks which functions there are finds those of the library behind the interposer, and no others. */
//: MPI_Init 1
//: MPI_Finalize 1
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    const char *names[] = {"MPI_Send", "PMPI_Send", "MPI_Send_c", "PMPI_Send_c", "MPI_Session_init", "MPI_Psend_init", "MPI_Precv_init_c",
                           "MPI_Abi_get_version", "PMPI_Comm_toint", "MPI_Type_lb", "MPI_T_event_read", "MPI_Buffer_flush"};
    MPI_Init(&argc, &argv);
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        printf("%s %s\n", names[i], dlsym(RTLD_DEFAULT, names[i]) ? "is there" : "is absent");
    MPI_Finalize();
    return 0;
}
