//ranks: 3
//: MPI_Init 1
//: MPI_Finalize 1
//: MPI_Comm_rank 1
//: MPI_Win_create 1
//: MPI_Win_lock 26
//: MPI_Win_unlock 26
//: MPI_Win_lock_all 1
//: MPI_Win_unlock_all 1
//: MPI_Win_flush 11
//: MPI_Win_flush_local 1
//: MPI_Win_flush_all 1
//: MPI_Win_fence 2
//: MPI_Put 1
//: MPI_Get 31
//: MPI_Accumulate 10
//: MPI_Fetch_and_op 5
//: MPI_Rput 1
//: MPI_Wait 1
//: MPI_Barrier 2
//: MPI_Win_free 1
//: unpaired 0
//: uncovered 0
/* Locks of every kind, had by several ranks in turn; what is done under them is counted with bytes and partners. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, one = 1, old[4] = {0}, part[4] = {0}, mine;
    MPI_Win window;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create(part, sizeof part, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    for (int i = 0; i < 20; i++) {      /* a sum that only a lock keeps right, of rank 1 */
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
        MPI_Get(&mine, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
        if (i % 2) {
            MPI_Win_flush(1, window);
            mine++;
            MPI_Accumulate(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, window);
        }
        MPI_Win_unlock(1, window);
    }
    for (int i = 0; i < 5; i++) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
        MPI_Fetch_and_op(&one, &old[0], MPI_INT, 0, 1, MPI_SUM, window);
        MPI_Win_unlock(0, window);
    }
    MPI_Win_lock_all(0, window);
    MPI_Put(&one, 1, MPI_INT, (rank + 1) % 3, 2, 1, MPI_INT, window);
    MPI_Win_flush_local((rank + 1) % 3, window);
    MPI_Win_flush((rank + 1) % 3, window);
    MPI_Win_flush_all(window);
    MPI_Rput(&rank, 1, MPI_INT, (rank + 1) % 3, 3, 1, MPI_INT, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    for (int i = 0; i < 4; i++) MPI_Get(&old[i], 1, MPI_INT, rank, i, 1, MPI_INT, window);
    for (int i = 4; i < 11; i++) MPI_Get(&mine, 1, MPI_INT, rank, 0, 1, MPI_INT, window);
    MPI_Win_unlock(rank, window);
    printf("%d: %d %d %d %d\n", rank, old[0], old[1], old[2], old[3]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
