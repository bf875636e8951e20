/* Kernels, each a function that is called many times: what a pair of probes around each call adds differs from one to the next, because
 * the processor hides different parts of it. Most are serial. Prints what each took and how fast the core ran. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Each flip is met once: predictors of branches learn tens of thousands of them that come again. */
enum { CALLS = 300000, ROOM = 1 << 10, FLIPS = 4 * CALLS + 12345, SPOTS = 1 << 11, FAR = 1 << 18 };

static uint64_t next_of[ROOM];
static uint8_t flips[FLIPS];
static float spots[SPOTS][2];
static uint32_t far_of[FAR];
static uint64_t cells[64];
double row[64], matrix_of[4][4];
static volatile uint64_t sink;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* A million dependent additions: a core cycle each. Of a register, because recent processors add constants while they rename. */
static double cycles_per_second(void)
{
    double best = 0;
    for (int round = 0; round < 5; round++) {
        double begin = now();
        uint64_t x = sink, y = sink + 1;
        for (int i = 0; i < 100000; i++)
            __asm__ volatile("add %1, %0\nadd %1, %0\nadd %1, %0\nadd %1, %0\nadd %1, %0\n"
                             "add %1, %0\nadd %1, %0\nadd %1, %0\nadd %1, %0\nadd %1, %0" : "+r"(x) : "r"(y));
        double rate = 1e6 / (now() - begin);
        best = rate > best ? rate : best;
    }
    return best;
}

__attribute__((noinline)) uint64_t empty(uint64_t x)
{
    __asm__ volatile("");
    return x;
}

__attribute__((noinline)) uint64_t arithmetic(uint64_t x)
{
    x ^= x << 13;
    x ^= x >> 7;
    return x ^ x << 17;
}

__attribute__((noinline)) uint64_t loads(uint64_t x)
{
    for (int i = 0; i < 8; i++) x = next_of[x % ROOM];
    return x;
}

__attribute__((noinline)) uint64_t throughput(uint64_t x)
{
    uint64_t a = x, b = x + 1, c = x + 2, d = x + 3;
    for (int i = 0; i < 8; i++)
        __asm__ volatile("add $1, %0\nadd $1, %1\nadd $1, %2\nadd $1, %3\nxor $5, %0\nxor $5, %1\nxor $5, %2\nxor $5, %3"
                         : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    return a + b + c + d;
}

__attribute__((noinline)) uint64_t branches(uint64_t x)
{
    uint64_t sum = 0;
    for (int i = 0; i < 4; i++) {
        if (flips[x + i]) __asm__ volatile("add $3, %0" : "+r"(sum));
        else __asm__ volatile("xor $5, %0" : "+r"(sum));
    }
    return x + 4 + (sum & 0);
}

/* Divisions that need one another: a body that takes longer than a pair of probes. */
__attribute__((noinline)) uint64_t divisions(uint64_t x)
{
    double y = x;
    for (int i = 0; i < 6; i++) y = 1.0 / (1.0 + y);
    return y;
}

/* A running mean and its variance, as in examples/pi: a division and words that come back from memory. */
struct tally {
    double points, mean, squares;
};

__attribute__((noinline)) static void dart(struct tally *tally, float x, float y)
{
    double below = y * (1.0 + x * x) <= 4.0f ? 4.0 : 0.0, delta = below - tally->mean;
    tally->points += 1.0;
    tally->mean += delta / tally->points;
    tally->squares += delta * (below - tally->mean);
}

/* Multiplications that need one another. */
__attribute__((noinline)) uint64_t hash(uint64_t x)
{
    uint64_t sum = 14695981039346656037u;
    for (int i = 0; i < 12; i++) sum = (sum ^ flips[x % 1024 + i]) * 1099511628211u;
    return sum;
}

/* Loads and additions of which several go on at once. */
__attribute__((noinline)) uint64_t rows(uint64_t x)
{
    double a = 0, b = 0, c = 0, d = 0;
    for (int i = 0; i < 64; i += 4) a += row[i], b += row[i + 1], c += row[i + 2], d += row[i + 3];
    return x + (a + b + c + d > 5);
}

/* A load from beyond the first cache. */
__attribute__((noinline)) uint64_t chase(uint64_t x)
{
    return far_of[x % FAR];
}

__attribute__((noinline)) uint64_t stores(uint64_t x)
{
    for (int i = 0; i < 32; i++) ((volatile uint64_t *)cells)[i] = x;
    return x + 1;
}

/* A call of a function that is not measured: no leaf. */
__attribute__((noinline)) uint64_t library(uint64_t x)
{
    volatile double y = exp(1e-9 * (double)(x & 1023));
    return x + 1 + (y > 5);
}

/* The calls of two of them do not need one another. */
__attribute__((noinline)) int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

__attribute__((noinline)) void matrix(const double *in, double *out)
{
    for (int i = 0; i < 4; i++) {
        double sum = 0;
        for (int j = 0; j < 4; j++) sum += matrix_of[i][j] * in[j];
        out[i] = sum;
    }
}

/* Called through a pointer in random order. */
__attribute__((noinline)) uint64_t first(uint64_t x) { return x + 1; }
__attribute__((noinline)) uint64_t second(uint64_t x) { return x + 2; }
__attribute__((noinline)) uint64_t third(uint64_t x) { return x + 3; }
__attribute__((noinline)) uint64_t fourth(uint64_t x) { return x + 5; }
static uint64_t (*const table[])(uint64_t) = {first, second, third, fourth};

/* A generator of random numbers of 64 bits in halves, as old ones are: functions of which each calls the next, four for a number, whose words come
 * back from memory. */
struct halves {
    uint32_t low, high;
};
static struct halves state = {12345, 678}, factor = {1284865837, 1481765933}, term = {1, 0};

__attribute__((noinline)) void times(const struct halves *a, const struct halves *b, struct halves *out)
{
    uint64_t low = (uint64_t)a->low * b->low;
    out->high = (uint32_t)(low >> 32) + a->low * b->high + a->high * b->low;
    out->low = (uint32_t)low;
}

__attribute__((noinline)) void plus(const struct halves *a, const struct halves *b, struct halves *out)
{
    uint64_t low = (uint64_t)a->low + b->low;
    out->low = (uint32_t)low;
    out->high = a->high + b->high + (uint32_t)(low >> 32);
}

__attribute__((noinline)) void advance(struct halves *now)
{
    struct halves product;
    *now = state;
    times(&factor, &state, &product);
    plus(&product, &term, &state);
}

__attribute__((noinline)) double number(void)
{
    struct halves now;
    advance(&now);
    return 0.5 - ((now.low & 65535) + (now.low >> 16) * 65536.0 + now.high * 4294967296.0) / 18446744073709551616.0;
}

#define RUN(kernel)                                                  \
    __attribute__((noinline)) void run_##kernel(void)                \
    {                                                                \
        uint64_t x = 12345;                                          \
        for (int i = 0; i < CALLS; i++) x = kernel(x);               \
        sink += x;                                                   \
    }
RUN(empty)
RUN(arithmetic)
RUN(loads)
RUN(throughput)
RUN(branches)
RUN(divisions)
RUN(hash)
RUN(rows)
RUN(chase)
RUN(stores)
RUN(library)

__attribute__((noinline)) void run_dart(void)
{
    static struct tally tally;
    for (int i = 0; i < CALLS; i++) dart(&tally, spots[i % SPOTS][0], spots[i % SPOTS][1]);
    sink += (uint64_t)tally.mean;
}

__attribute__((noinline)) void run_compare(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < CALLS; i++) sum += compare(next_of[i % 1000], next_of[(i * 7 + 3) % 1013]);
    sink += sum;
}

__attribute__((noinline)) void run_matrix(void)
{
    double a[4] = {1, 2, 3, 4}, b[4];
    for (int i = 0; i < CALLS; i += 2) {
        matrix(a, b);
        matrix(b, a);
    }
    sink += a[0];
}

/* Ten times as many calls, since each of four functions needs enough of them to be known. */
__attribute__((noinline)) void run_random(void)
{
    uint64_t x = 12345;
    for (int i = 0; i < 10 * CALLS; i++) x = table[flips[i % (FLIPS - 7)] * 2 + flips[i % (FLIPS - 7) + 7]](x);
    sink += x;
}

/* Four pairs for a number; so many because what they cost together is asked after what each costs alone. */
__attribute__((noinline)) void run_nest(void)
{
    double sum = 0;
    for (int i = 0; i < 5 * CALLS; i++) sum += number();
    sink += (uint64_t)sum;
}

int main(void)
{
    srandom(1);
    for (int i = 0; i < ROOM; i++) next_of[i] = random();
    for (int i = 0; i < FLIPS; i++) flips[i] = random() >> 7 & 1;
    for (int i = 0; i < SPOTS; i++) spots[i][0] = random() * 0x1p-31f, spots[i][1] = random() * 0x1p-29f;
    for (int i = 0; i < FAR; i++) far_of[i] = random();
    for (int i = 0; i < 16; i++) matrix_of[i / 4][i % 4] = 0.25;
    struct {
        const char *name;
        void (*run)(void);
        int calls;
    } kernels[] = {{"empty", run_empty, CALLS}, {"arithmetic", run_arithmetic, CALLS}, {"loads", run_loads, CALLS}, {"throughput", run_throughput, CALLS},
                   {"branches", run_branches, CALLS}, {"divisions", run_divisions, CALLS}, {"hash", run_hash, CALLS}, {"rows", run_rows, CALLS},
                   {"chase", run_chase, CALLS}, {"stores", run_stores, CALLS}, {"library", run_library, CALLS}, {"dart", run_dart, CALLS},
                   {"compare", run_compare, CALLS}, {"matrix", run_matrix, CALLS}, {"random", run_random, 10 * CALLS},
                   {"nest", run_nest, 20 * CALLS}};
    for (unsigned i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        double rate = cycles_per_second(), begin = now();
        kernels[i].run();
        printf("%s %.9f %.0f %d\n", kernels[i].name, now() - begin, rate, kernels[i].calls);
    }
    return 0;
}
