//ranks: 4
//: MPI_Init_thread 1
//: MPI_Finalize 1
//: MPI_Comm_rank 4 4 4 3
//: MPI_Comm_size 1
//: MPI_Barrier 2
//: MPI_Bcast 5
//: MPI_Reduce 2
//: MPI_Allreduce 3
//: MPI_Gather 1
//: MPI_Gatherv 1
//: MPI_Allgather 2
//: MPI_Allgatherv 1
//: MPI_Scatter 1
//: MPI_Scatterv 1
//: MPI_Alltoall 1
//: MPI_Alltoallv 1
//: MPI_Alltoallw 1
//: MPI_Reduce_scatter 1
//: MPI_Reduce_scatter_block 1
//: MPI_Scan 1
//: MPI_Exscan 1
//: MPI_Iallreduce 1
//: MPI_Ibarrier 1
//: MPI_Waitall 1
//: MPI_Comm_split 2
//: MPI_Comm_dup 1
//: MPI_Comm_free 7
//: MPI_Comm_group 1
//: MPI_Group_incl 1
//: MPI_Group_free 2
//: MPI_Comm_create 1
//: MPI_Comm_create_group 1
//: MPI_Cart_create 1
//: MPI_Cart_shift 1
//: MPI_Sendrecv 3
//: MPI_Intercomm_create 1
//: MPI_Intercomm_merge 1
//: MPI_Comm_split_type 1
//: MPI_Op_create 1
//: MPI_Op_free 1
//: MPI_Comm_create_keyval 1
//: MPI_Comm_set_attr 1
//: MPI_Comm_free_keyval 1
//: unpaired 0
//: uncovered 0
/* Collectives on several communicators, with user functions that call MPI themselves. */
#include <mpi.h>
#include <stdio.h>

static int copies, deletions, operations;
static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
    int size;
    MPI_Comm_size(comm, &size);     /* inside MPI_Comm_dup: not the program's own call */
    copies++;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}
static int discard(MPI_Comm comm, int key, void *value, void *extra) { deletions++; return MPI_SUCCESS; }
static void add(void *in, void *out, int *length, MPI_Datatype *type) {
    int size;
    MPI_Type_size(*type, &size);    /* inside a reduction */
    operations += size == 4;
    for (int i = 0; i < *length; i++) ((int *)out)[i] += ((int *)in)[i];
}

int main(int argc, char **argv) {
    int provided, rank, size;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int one = rank + 1, got[16] = {0}, all[16] = {0}, counts[4] = {1, 1, 1, 1}, places[4] = {0, 1, 2, 3};
    int bytes[4] = {0, 4, 8, 12};
    MPI_Datatype types[4] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};

    MPI_Barrier(MPI_COMM_WORLD);
    int word = rank == 2 ? 42 : 0;
    MPI_Bcast(&word, 1, MPI_INT, 2, MPI_COMM_WORLD);
    static int big[100000];
    if (rank == 1) big[99999] = 7;
    MPI_Bcast(big, 100000, MPI_INT, 1, MPI_COMM_WORLD);
    printf("%d: bcast %d %d\n", rank, word, big[99999]);
    int sum = 0;
    MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 3, MPI_COMM_WORLD);
    if (rank == 0) got[0] = one;
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : &one, got, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    printf("%d: reduce %d %d\n", rank, sum, got[0]);
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    int place = one;
    MPI_Allreduce(MPI_IN_PLACE, &place, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    printf("%d: allreduce %d %d\n", rank, sum, place);
    MPI_Gather(&one, 1, MPI_INT, got, 1, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Gatherv(&one, 1, MPI_INT, all, counts, places, MPI_INT, 2, MPI_COMM_WORLD);
    printf("%d: gather %d %d\n", rank, rank == 1 ? got[3] : 0, rank == 2 ? all[3] : 0);
    MPI_Allgather(&one, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgatherv(&one, 1, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Scatter(all, 1, MPI_INT, rank == 0 ? MPI_IN_PLACE : got, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatterv(all, counts, places, MPI_INT, got + 1, 1, MPI_INT, 3, MPI_COMM_WORLD);
    printf("%d: scatter %d\n", rank, got[1]);
    MPI_Alltoall(all, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoallv(all, counts, places, MPI_INT, got, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoallw(all, counts, bytes, types, got, counts, bytes, types, MPI_COMM_WORLD);
    printf("%d: alltoall %d %d\n", rank, got[0], got[3]);
    MPI_Reduce_scatter(all, got, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(all, got + 1, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int scan = 0, before = 0;
    MPI_Scan(&one, &scan, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(&one, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("%d: scans %d %d %d %d\n", rank, got[0], got[1], scan, rank ? before : 0);
    MPI_Request requests[2];
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);

    int key, value = 5, inner;
    MPI_Comm half, dup, none, pair, grid, bridge, joined, node;
    MPI_Comm_create_keyval(copy, discard, &key, NULL);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_set_attr(half, key, &value);
    MPI_Comm_dup(half, &dup);
    MPI_Comm_rank(dup, &inner);
    MPI_Bcast(&inner, 1, MPI_INT, 0, dup);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 3 ? MPI_UNDEFINED : 0, 0, &none);
    MPI_Group world, low;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 2, rank < 2 ? (int[]){1, 0} : (int[]){2, 3}, &low);
    MPI_Comm_create(MPI_COMM_WORLD, low, &pair);
    MPI_Comm_free(&pair);
    MPI_Comm_create_group(MPI_COMM_WORLD, low, 4, &pair);
    MPI_Comm_rank(pair, &inner);
    MPI_Bcast(&word, 1, MPI_INT, 1, pair);
    MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){4}, (int[]){1}, 1, &grid);
    int left, right;
    MPI_Cart_shift(grid, 0, 1, &left, &right);
    MPI_Sendrecv(&rank, 1, MPI_INT, right, 1, &value, 1, MPI_INT, left, 1, grid, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&rank, 1, MPI_INT, 1 - inner, 1, &inner, 1, MPI_INT, 1 - inner, 1, pair, MPI_STATUS_IGNORE);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 2 : 3, 9, &bridge);
    int partner = -1, me;
    me = rank < 2;
    MPI_Sendrecv(&rank, 1, MPI_INT, me, 2, &partner, 1, MPI_INT, me, 2, bridge, MPI_STATUS_IGNORE);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, bridge);
    printf("%d: grid %d, bridge %d %d, copies %d\n", rank, value, partner, sum, copies);
    MPI_Intercomm_merge(bridge, rank % 2, &joined);
    MPI_Bcast(&sum, 1, MPI_INT, 0, joined);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Barrier(node);
    MPI_Comm_free(&node); MPI_Comm_free(&joined); MPI_Comm_free(&bridge); MPI_Comm_free(&grid); MPI_Comm_free(&pair); MPI_Comm_free(&dup);
    if (none != MPI_COMM_NULL) MPI_Comm_rank(none, &inner);
    MPI_Group_free(&low);
    MPI_Group_free(&world);
    MPI_Comm_free_keyval(&key);
    printf("%d: deletions %d\n", rank, deletions);
    MPI_Finalize();
    return 0;
}
