// Short and frequent functions of every shape: recursion, exceptions, longjmp, signals, threads. Prints how often each was called.
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/time.h>
#include <thread>
#include <vector>

#define FUNCTIONS(X) X(leaf) X(middle) X(outer) X(fib) X(even) X(odd) X(thrower) X(catcher) X(jumper) X(setter) X(worker) X(deep)

enum { FUNCTION_COUNT = 12 };
#define ENUMERATE(name) id_##name,
enum Id { FUNCTIONS(ENUMERATE) };
static thread_local unsigned long mine[FUNCTION_COUNT];
static std::atomic<unsigned long> calls[FUNCTION_COUNT];
static volatile long sink;

static void add_up() {
    for (int i = 0; i < FUNCTION_COUNT; i++) calls[i] += mine[i];
}

#define BEGIN(name) (mine[id_##name]++)

extern "C" {
__attribute__((noinline)) long leaf(long x) { BEGIN(leaf); return x ^ 5; }
__attribute__((noinline)) long middle(long x) { BEGIN(middle); for (int i = 0; i < 10; i++) x += leaf(x + i); return x; }
__attribute__((noinline)) long outer(long x) { BEGIN(outer); for (int i = 0; i < 20; i++) x += middle(x + i); return x; }
__attribute__((noinline)) long fib(long n) { BEGIN(fib); return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) long odd(long n);
__attribute__((noinline)) long even(long n) { BEGIN(even); return n ? odd(n - 1) + 1 : 0; }
__attribute__((noinline)) long odd(long n) { BEGIN(odd); return n ? even(n - 1) + 1 : 0; }
__attribute__((noinline)) long deep(long n) { BEGIN(deep); return n ? deep(n - 1) + (n & 1) : 0; }
__attribute__((noinline)) void thrower(long n) { BEGIN(thrower); if (n == 0) throw 7L; thrower(n - 1); sink = n; }
__attribute__((noinline)) long catcher(long n) { BEGIN(catcher); try { thrower(n); } catch (long x) { return x; } return 0; }
static thread_local std::jmp_buf back;
__attribute__((noinline)) void jumper(long n) { BEGIN(jumper); if (n == 0) std::longjmp(back, 1); jumper(n - 1); sink = n; }
__attribute__((noinline)) long setter(long n) { BEGIN(setter); if (setjmp(back) == 0) jumper(n); return n; }
__attribute__((noinline)) void worker(long rounds) {
    BEGIN(worker);
    long x = 0;
    for (long i = 0; i < rounds; i++) x += outer(i);
    sink = x;
    add_up();
}
}

static void handled(int) { sink = sink + 1; }

int main(int argc, char **argv) {
    long rounds = argc > 1 ? std::atol(argv[1]) : 100;
    std::signal(SIGALRM, handled);
    itimerval often = {{0, 100}, {0, 100}};
    setitimer(ITIMER_REAL, &often, nullptr);
    long x = 0;
    for (long i = 0; i < rounds; i++) {
        for (int k = 0; k < 10; k++) x += fib(18) + even(1001) + deep(3000) + catcher(300) + setter(100);
        for (int k = 0; k < 100; k++) x += outer(k);
        std::vector<std::thread> threads;
        for (int k = 0; k < 2; k++) threads.emplace_back(worker, 20);
        for (auto &thread : threads) thread.join();
    }
    sink = x;
    add_up();
#define PRINT(name) std::printf("%s %lu\n", #name, calls[id_##name].load());
    FUNCTIONS(PRINT)
}
