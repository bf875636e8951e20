/* A tool that wraps one function of MPI, and says at the end what it saw. */
#include <mpi.h>
#include <stdio.h>

static int sent;

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    sent++;
    return PMPI_Send(data, count, type, to, tag, comm);
}

__attribute__((destructor)) static void say(void) {
    if (sent) fprintf(stderr, "the other tool saw %d sends\n", sent);
}
