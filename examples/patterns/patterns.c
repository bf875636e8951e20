/* Patterns of communication, each with work of short, measured functions: what delays do in each of them can be seen by
 *
 *     tare validate --preset all -- mpirun -n 2 ./patterns PATTERN [rounds]
 *
 * Odd ranks work more than even ones, so that somebody waits in every round.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AHEAD = 32, BORDER = 512, LARGE = 1 << 20 };

static int rank, size;
static volatile double sink;

/* Some 30 ns of divisions that need each other, called for every step of the work: measured, it takes about twice as long. */
__attribute__((noinline, noclone)) static double step(double x)
{
    for (int i = 0; i < 6; i++)
        x = 1.0 / (1.0 + x);
    return x;
}

__attribute__((noinline, noclone)) static void work(int steps)
{
    double x = rank;
    for (int i = 0; i < steps; i++)
        x = step(x);
    sink += x;
}

/* Work of a round: uneven, and not in the same way in all rounds. */
static int share(int round)
{
    return 1000 + 1500 * ((rank + round / 16) % 2);
}

/* Every rank hands on what it got; the first ones are ahead, as far as those behind them allow. */
static void pipeline(int rounds)
{
    int value = 0, leave;
    for (int i = 0; i < rounds; i++) {
        int asks = i % AHEAD == AHEAD - 1;
        if (rank > 0)
            MPI_Recv(&value, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        work(rank == size - 1 ? 3000 : 500);
        if (rank < size - 1)
            MPI_Send(&value, 1, MPI_INT, rank + 1, 1, MPI_COMM_WORLD);
        if (asks && rank > 0)
            MPI_Send(&value, 1, MPI_INT, rank - 1, 2, MPI_COMM_WORLD);
        if (asks && rank < size - 1)
            MPI_Recv(&leave, 1, MPI_INT, rank + 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void halo(int rounds)
{
    static double out[2][BORDER], in[2][BORDER];
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    for (int i = 0; i < rounds; i++) {
        MPI_Request all[4];
        MPI_Status arrived[4];
        double local = i, global;
        MPI_Irecv(in[0], BORDER, MPI_DOUBLE, last, 1, MPI_COMM_WORLD, &all[0]);
        MPI_Irecv(in[1], BORDER, MPI_DOUBLE, next, 2, MPI_COMM_WORLD, &all[1]);
        MPI_Isend(out[0], BORDER, MPI_DOUBLE, next, 1, MPI_COMM_WORLD, &all[2]);
        MPI_Isend(out[1], BORDER, MPI_DOUBLE, last, 2, MPI_COMM_WORLD, &all[3]);
        work(share(i));
        MPI_Waitall(4, all, arrived);
        MPI_Allreduce(&local, &global, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

/* Large messages wait for their receivers. */
static void rendezvous(int rounds)
{
    static char data[LARGE];
    for (int i = 0; i < rounds; i++) {
        if (rank % 2 == 0 && rank + 1 < size) {
            work(500);
            MPI_Send(data, LARGE, MPI_BYTE, rank + 1, 1, MPI_COMM_WORLD);
        } else if (rank % 2 == 1) {
            work(3000);
            MPI_Recv(data, LARGE, MPI_BYTE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
}

static void trees(int rounds)
{
    double *all = calloc(size, sizeof *all), one = 0.0;
    for (int i = 0; i < rounds; i++) {
        work(share(i));
        MPI_Bcast(&one, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        work(share(i));
        MPI_Gather(&one, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        work(share(i + 16));
        MPI_Scatter(all, 1, MPI_DOUBLE, &one, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    free(all);
}

static void onesided(int rounds)
{
    double mine = 0.0, theirs = rank;
    MPI_Win window;
    MPI_Win_create(&mine, sizeof mine, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    for (int i = 0; i < rounds; i++) {
        work(share(i));
        MPI_Put(&theirs, 1, MPI_DOUBLE, (rank + 1) % size, 0, 1, MPI_DOUBLE, window);
        MPI_Win_fence(0, window);
    }
    MPI_Win_free(&window);
}

static void started(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        double local = i, global;
        MPI_Request request;
        MPI_Iallreduce(&local, &global, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        work(share(i));
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void neighbours(int rounds)
{
    int periodic = 1;
    double out[2] = {0.0, 0.0}, in[2];
    MPI_Comm ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    for (int i = 0; i < rounds; i++) {
        work(share(i));
        MPI_Neighbor_alltoall(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, ring);
    }
    MPI_Comm_free(&ring);
}

/* Who is asked for work takes whoever comes. */
static void workers(int rounds)
{
    int value = 0;
    for (int i = 0; rank > 0 && i < rounds; i++) {
        work(2000);
        MPI_Ssend(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    for (int i = 0; rank == 0 && i < rounds * (size - 1); i++)
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static const struct {
    const char *name;
    void (*run)(int rounds);
} PATTERNS[] = {{"pipeline", pipeline}, {"halo", halo}, {"rendezvous", rendezvous}, {"trees", trees}, {"onesided", onesided},
                {"started", started}, {"neighbours", neighbours}, {"workers", workers}};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rounds = argc > 2 ? atoi(argv[2]) : 2000, known = 0;
    for (size_t i = 0; argc > 1 && i < sizeof PATTERNS / sizeof *PATTERNS; i++)
        if (strcmp(argv[1], PATTERNS[i].name) == 0) {
            PATTERNS[i].run(rounds);
            known = 1;
        }
    if (!known && rank == 0)
        fprintf(stderr, "patterns: pipeline, halo, rendezvous, trees, onesided, started, neighbours or workers\n");
    MPI_Finalize();
    return known ? 0 : 2;
}
