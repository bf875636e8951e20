#include <mpi.h>
#include <stdio.h>
#include <tare.h>

static volatile double sink;

static void step(int level)
{
    TARE_BEGIN("step");
    TARE_PARAMETER("level", level);
    for (int i = 0; i < level * 1000; i++) sink += i;
    TARE_END("step");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    TARE_BEGIN("solve");
    for (int i = 0; i < 10; i++) {
        for (int level = 1; level <= 3; level++) step(level);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    TARE_END("solve");
    MPI_Pcontrol(2);
    step(2);
    MPI_Pcontrol(3);
    step(3);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(0);
    step(4);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    step(6);
    MPI_Finalize();
    return 0;
}
