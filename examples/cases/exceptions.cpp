// Exceptions thrown through measured frames on every rank: caught, rethrown, cleaned up, and told apart by type.
#include <cstdio>
#include <mpi.h>
#include <stdexcept>
#include <string>
#include <vector>

static long destroyed = 0;

struct guard {
    ~guard() { destroyed++; }
};

struct too_deep : std::runtime_error {
    int depth;
    explicit too_deep(int d) : std::runtime_error("too deep at " + std::to_string(d)), depth(d) {}
};

__attribute__((noinline)) static int descend(int depth, int limit)
{
    guard held;
    if (depth == limit)
        throw too_deep(depth);
    if (limit < 0 && depth > 8)
        throw std::string("negative limit");
    return descend(depth + 1, limit) + 1;
}

__attribute__((noinline)) static int attempt(int limit)
{
    guard held;
    try {
        return descend(0, limit);
    } catch (const too_deep &e) {
        if (e.depth % 3 == 0)
            throw;
        return e.depth;
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long caught[3] = {0, 0, 0};
    for (int i = 0; i < 3000; i++) {
        try {
            caught[0] += attempt(i % 40 - 2);
        } catch (const std::exception &) {
            caught[1]++;
        } catch (const std::string &) {
            caught[2]++;
        }
    }
    long sums[4] = {caught[0], caught[1], caught[2], destroyed}, all[4];
    MPI_Reduce(sums, all, 4, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        std::printf("depths %ld, rethrown %ld, strings %ld, destroyed %ld\n", all[0], all[1], all[2], all[3]);
    MPI_Finalize();
    return 0;
}
