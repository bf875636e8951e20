// MPI and OpenMP: rank 1 waits for rank 0, whose other thread has nearly all of the calls.
#include <mpi.h>
#include <omp.h>
#include <stdio.h>

enum { ROUNDS = 20, MANY = 20000, FEW = MANY / 100 };

__attribute__((noinline)) double step(double x) {
    __asm__ volatile("");
    return x * 1.0000001 + 1e-9;
}

__attribute__((noinline)) double work(int calls) {
    double x = 1;
    for (int i = 0; i < calls; i++) x = step(x);
    return x;
}

int main(int count, char **arguments) {
    int provided, rank;
    MPI_Init_thread(&count, &arguments, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 0) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
            sum += work(omp_get_thread_num() == 1 ? MANY : FEW);
            MPI_Send(&sum, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        } else {
            sum += work(FEW);
            MPI_Recv(&sum, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    if (rank == 1) printf("%.6f\n", sum);
    return 0;
}
