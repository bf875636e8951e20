// Calls that push arguments, and whose exceptions land where these are off the stack again.
#include <alloca.h>
#include <cstdio>

struct Large {
    long words[5];
};

__attribute__((noinline)) static long many(long a, long b, long c, long d, long e, long f, long g, long h, Large large) {
    if ((a + g) % 3 == 0) throw a + h;
    return a + b + c + d + e + f + g + h + large.words[a % 5];
}

// Counts from the stack pointer.
__attribute__((noinline)) static long plain(long n) {
    Large large = {{n, 1, 2, 3, 4}};
    try {
        return many(n, 1, 2, 3, 4, 5, n + 1, 7, large);
    } catch (long thrown) {
        return thrown;
    }
}

// Counts from another register, and catches in a loop.
__attribute__((noinline)) static long framed(long n) {
    volatile char *room = static_cast<volatile char *>(alloca(16 + n % 32));
    room[0] = static_cast<char>(n);
    long sum = room[0];
    for (long i = 0; i < n % 7; i++) {
        Large large = {{i, 1, 2, 3, n}};
        try {
            sum += many(i, 1, 2, 3, 4, 5, n, sum % 100, large);
        } catch (long thrown) {
            sum += 2 * thrown;
        }
        try {
            sum += plain(i) + many(n, i, 2, 3, 4, 5, i, 7, large);
        } catch (long thrown) {
            sum -= thrown;
        }
    }
    return sum;
}

int main() {
    long sum = 0;
    for (long n = 0; n < 2000; n++) sum = (sum * 5 + plain(n) + framed(n)) % 1000003;
    std::printf("%ld\n", sum);
    return 0;
}
