// Exceptions and jumps over many frames, through loops and calls, in threads, out of handlers of signals, on alternate stacks,
// between a program and its library. Each function counts its visits; they are printed at the end.
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#define FUNCTIONS(X) \
    X(leaf) X(deep) X(catches) X(loops) X(hops) X(jumps) X(handles) X(escapes) X(aside) X(above) X(alternates) X(recurs) X(back) X(across) X(works) X(starts)
#define EXPORTED extern "C" __attribute__((noinline, visibility("default")))
#define VISIT(name) visits_of_##name++; asm volatile("")

extern "C" int through(int (*function)(int), int depth);

#ifdef LIBRARY
// What is called throws; one of two rounds may be all.
EXPORTED int through(int (*function)(int), int depth)
{
    int sum = 0;
    for (int i = 0; i < 2; i++) sum += i == 0 && depth > 0 ? through(function, depth - 1) : function(depth);
    asm volatile("");
    return sum;
}
#else

#define COUNTER(name) static std::atomic<long> visits_of_##name;
FUNCTIONS(COUNTER)

EXPORTED int leaf(int x) { VISIT(leaf); return x * 3 + 1; }

struct Counts {
    int &count;
    ~Counts() { count += leaf(1); }
};

EXPORTED int deep(int depth, int &count)
{
    VISIT(deep);
    if (depth == 0) throw std::runtime_error("deep");
    int sum = leaf(depth);
    if (depth % 3) return sum + deep(depth - 1, count) + leaf(2);
    Counts counts{count};
    return sum + deep(depth - 1, count) + leaf(3);
}

EXPORTED int catches(int depth, int &count)
{
    VISIT(catches);
    try {
        return deep(depth, count);
    } catch (std::exception &error) {
        return leaf(error.what()[0]);
    }
}

EXPORTED int loops(int depth, int &count)
{
    VISIT(loops);
    int sum = 0;
    for (int i = 0; i < 4; i++) {
        try {
            for (int j = 0; j < 3; j++) sum += j == 2 ? deep(depth, count) : leaf(j);
        } catch (...) {
            sum++;
        }
    }
    return sum;
}

thread_local jmp_buf there;

EXPORTED int hops(int depth)
{
    VISIT(hops);
    if (depth == 0) longjmp(there, 1);
    int sum = 0;
    for (int i = 0; i < 2; i++) sum += i == 1 ? hops(depth - 1) : leaf(i);
    return sum + leaf(4);
}

EXPORTED int jumps(int depth)
{
    VISIT(jumps);
    volatile int sum = 0;
    for (volatile int round = 0; round < 30; round = round + 1) {
        if (setjmp(there) != 0) {
            sum = sum + 1;
            continue;
        }
        for (int i = 0; i < 3; i++) sum = sum + (i == 2 ? hops(depth) : leaf(i));
    }
    return sum;
}

thread_local sigjmp_buf outside;
thread_local bool is_to_escape;

EXPORTED void handles(int signal)
{
    VISIT(handles);
    leaf(signal);
    if (is_to_escape) siglongjmp(outside, 1);
}

EXPORTED int escapes(int x)
{
    VISIT(escapes);
    is_to_escape = x % 2;
    if (sigsetjmp(outside, 1) == 0) raise(SIGUSR1);
    return leaf(x);
}

// A handler above all frames of its thread, which are alive nevertheless.
EXPORTED void above(int signal)
{
    VISIT(above);
    int count = 0;
    catches(signal % 5, count);
    if (is_to_escape) siglongjmp(outside, 1);
}

EXPORTED int aside(int x)
{
    VISIT(aside);
    is_to_escape = x % 3 == 0;
    if (sigsetjmp(outside, 1) == 0) raise(SIGUSR2);
    return leaf(x);
}

EXPORTED int alternates(void *stack, int rounds)
{
    VISIT(alternates);
    stack_t own = {}, none = {};
    own.ss_sp = stack;
    own.ss_size = 1 << 16;
    none.ss_flags = SS_DISABLE;
    sigaltstack(&own, nullptr);
    int sum = 0;
    for (int i = 0; i < rounds; i++) sum += aside(i);
    sigaltstack(&none, nullptr);
    return sum;
}

EXPORTED int recurs(int depth)
{
    VISIT(recurs);
    int below = depth == 0 ? leaf(1) : recurs(depth - 1);
    // No loop is to be made of it.
    asm volatile("" : "+r"(below));
    return below + 1;
}

EXPORTED int back(int x)
{
    VISIT(back);
    if (leaf(x) % 2) throw x;
    return x;
}

EXPORTED int across(int depth)
{
    VISIT(across);
    try {
        return through(back, depth);
    } catch (int x) {
        return leaf(x);
    }
}

EXPORTED long works(int number)
{
    VISIT(works);
    int count = number;
    long sum = 0;
    for (int i = 0; i < 30; i++) {
        sum += catches(i % 20, count) + loops(i % 6, count) + jumps(i % 7) + escapes(i) + across(i % 5);
    }
    sum += recurs(20000) + catches(3000, count);
    return sum * 1000 + count;
}

EXPORTED void starts(long &result, int number, void *stack)
{
    VISIT(starts);
    result = works(number) + alternates(stack, 20);
}

int main()
{
    std::signal(SIGUSR1, handles);
    struct sigaction action = {};
    action.sa_handler = above;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &action, nullptr);
    alignas(16) char stacks[2][1 << 16];
    long results[3];
    std::thread threads[] = {std::thread(starts, std::ref(results[0]), 0, stacks[0]), std::thread(starts, std::ref(results[1]), 1, stacks[1])};
    for (auto &thread : threads) thread.join();
    results[2] = works(2);
    std::printf("%ld %ld %ld\n", results[0], results[1], results[2]);
#define SAY(name) std::printf(#name " %ld\n", visits_of_##name.load());
    FUNCTIONS(SAY)
}
#endif
