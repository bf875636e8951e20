// The program of paper 3's figure 12, on two ranks: rank 1 sends what rank 0 receives. L1 to L15 are the paper's lines. With an
// argument it goes on, a round each millisecond, until a file of that name is there: rank 1 looks, and tells rank 0.
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static int rank, is_last;
static volatile double sink;

NOINLINE void P4(int rounds) { // L15
    for (int round = 0; round < rounds; round++)
        sink += 1.0 / (round + 1);
}

NOINLINE void P3(int rounds) { // L8
    double value = is_last;
    if (rank == 0)
        MPI_Recv(&value, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // L9
    else
        MPI_Send(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    P4(rounds), is_last = (int)value; // L10
    for (int outer = 0; outer < 10; outer++) { // L11
        if (rank == 0)
            MPI_Recv(&value, 1, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // L12
        else
            MPI_Send(&value, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
        for (int inner = 0; inner < 5; inner++) // L13
            P4(rounds); // L14
    }
}

NOINLINE void P1(void) { // L4
    P3(20000 + 60000 * rank); // L5
    sink += 1.0;
}

NOINLINE void P2(void) { // L6
    P3(10000 + 30000 * rank); // L7
    sink += 1.0;
}

int main(int argc, char **argv) { // L1
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    do {
        is_last = argc < 2 || (rank == 1 && access(argv[1], F_OK) == 0);
        P1(); // L2
        P2(); // L3
        if (argc > 1)
            usleep(1000);
    } while (!is_last);
    MPI_Finalize();
    return 0;
}
