/* passing: rank 0 has receives under way and asks about them after each short step of its work, far oftener than messages come: it asks in
   passing. Rank 1 sends messages of many sizes. Rank 0 checks each, by its number, with statuses and without, and says how often it has asked. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 400, RECEIVES = 4, MOST = 9000, LEAST_ASKED = 200000 };

static double room[RECEIVES][MOST];

__attribute__((noinline)) static double step(double x) { return x * 0.999 + 1; }

static int size_of(int number) { return number % 7 == 0 ? MOST : 1 + number % 100; }

__attribute__((noinline)) static void check(const double *message, int number, const MPI_Status *status) {
    int size = size_of((int)message[0]), count = 0;
    int is_right = message[0] >= 0 && message[0] < MESSAGES && message[size - 1] == message[0];
    if (status) {
        MPI_Get_count(status, MPI_DOUBLE, &count);
        is_right = is_right && status->MPI_SOURCE == 1 && status->MPI_TAG == 5 && count == size;
    }
    if (!is_right) {
        fprintf(stderr, "message %d is wrong\n", number);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

__attribute__((noinline)) static double ask(MPI_Request *requests, double x) {
    long asked = 0, sum = 0;
    int received = 0;
    while (received < MESSAGES || asked < LEAST_ASKED) {
        int index = -1, is_there = 0;
        if (received % 2) {
            MPI_Status status;
            MPI_Testany(RECEIVES, requests, &index, &is_there, &status);
            if (is_there && index >= 0) check(room[index], received, &status);
        } else {
            MPI_Testany(RECEIVES, requests, &index, &is_there, MPI_STATUS_IGNORE);
            if (is_there && index >= 0) check(room[index], received, NULL);
        }
        asked++;
        if (is_there && index >= 0) {
            sum += (long)room[index][0];
            received++;
            if (received + RECEIVES <= MESSAGES) MPI_Irecv(room[index], MOST, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD, &requests[index]);
        }
        x = step(x);
    }
    printf("asked %ld, %ld\n", asked, sum);
    return x;
}

int main(int count, char **words) {
    int rank;
    double x = count;
    MPI_Request requests[RECEIVES];
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        for (int i = 0; i < RECEIVES; i++) MPI_Irecv(room[i], MOST, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD, &requests[i]);
        x = ask(requests, x);
    } else if (rank == 1) {
        for (int number = 0; number < MESSAGES; number++) {
            for (int i = 0; i < 3000; i++) x = step(x);
            for (int i = 0; i < size_of(number); i++) room[0][i] = number;
            MPI_Send(room[0], size_of(number), MPI_DOUBLE, 0, 5, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return x < 0;
}
