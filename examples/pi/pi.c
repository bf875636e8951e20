/* Monte-Carlo integration of pi by a master and its workers: the experiment of Malony and Shende's
 * "Compensation of measurement overhead in parallel performance profiling" (section 5.3, Table 1).
 *
 * The master waits for a request of any worker and sends it a packet of random points in the rectangle
 * [0,1] x [0,4]. The worker finds out, point by point, which of them lie below 4 / (1 + x*x), keeps a running
 * mean and its variance, and asks again. The area below the curve is pi. The master stops when the standard
 * error of the mean is small enough.
 *
 * `throw_dart` is short and called for every point: measuring it makes the workers slower by more than a half,
 * and the master, which has nothing to measure, waits for them all the longer.
 *
 *     mpirun -n 2 ./pi [standard error to reach, default 4e-4]
 */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 8000, REQUEST = 1, PACKET = 2, STOP = 3 };

struct point {
    float x, y;
};

struct tally {
    double points, mean, squares;
};

/* A 64-bit linear congruential generator; its upper bits are uniform enough for throwing darts. */
static float uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)(*state >> 40) * 0x1p-24f;
}

/* Welford's update of mean and variance with one point. */
__attribute__((noinline)) static void throw_dart(struct tally *tally, struct point point)
{
    double below = point.y * (1.0 + point.x * point.x) <= 4.0f ? 4.0 : 0.0;
    double delta = below - tally->mean;
    tally->points += 1.0;
    tally->mean += delta / tally->points;
    tally->squares += delta * (below - tally->mean);
}

__attribute__((noinline, noclone)) static void fill_packet(struct point *packet, uint64_t *state)
{
    for (int i = 0; i < POINTS; i++) {
        packet[i].x = uniform(state);
        packet[i].y = 4.0f * uniform(state);
    }
}

static struct tally merge(struct tally a, struct tally b)
{
    double points = a.points + b.points;
    if (points == 0.0)
        return a;
    double delta = b.mean - a.mean;
    struct tally sum = {points, a.mean + delta * b.points / points,
                        a.squares + b.squares + delta * delta * a.points * b.points / points};
    return sum;
}

static double standard_error(struct tally tally)
{
    return tally.points < 2.0 ? INFINITY : sqrt(tally.squares / (tally.points - 1.0) / tally.points);
}

static double master(int workers, double wanted)
{
    static struct point packet[POINTS];
    struct tally total = {0.0, 0.0, 0.0};
    uint64_t state = 20070425;
    while (workers > 0) {
        struct tally tally;
        MPI_Status status;
        MPI_Recv(&tally, 3, MPI_DOUBLE, MPI_ANY_SOURCE, REQUEST, MPI_COMM_WORLD, &status);
        total = merge(total, tally);
        if (standard_error(total) <= wanted) {
            MPI_Send(packet, 0, MPI_FLOAT, status.MPI_SOURCE, STOP, MPI_COMM_WORLD);
            workers--;
        } else {
            fill_packet(packet, &state);
            MPI_Send(packet, 2 * POINTS, MPI_FLOAT, status.MPI_SOURCE, PACKET, MPI_COMM_WORLD);
        }
    }
    return total.mean;
}

static void worker(void)
{
    static struct point packet[POINTS];
    struct tally tally = {0.0, 0.0, 0.0};
    for (;;) {
        MPI_Status status;
        MPI_Send(&tally, 3, MPI_DOUBLE, 0, REQUEST, MPI_COMM_WORLD);
        MPI_Recv(packet, 2 * POINTS, MPI_FLOAT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == STOP)
            return;
        tally = (struct tally){0.0, 0.0, 0.0};
        for (int i = 0; i < POINTS; i++)
            throw_dart(&tally, packet[i]);
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    double wanted = argc > 1 ? atof(argv[1]) : 4e-4;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2) {
        fprintf(stderr, "pi: a master needs at least one worker: mpirun -n 2 ./pi\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (rank == 0)
        printf("pi is %.4f\n", master(size - 1, wanted));
    else
        worker();
    MPI_Finalize();
    return 0;
}
