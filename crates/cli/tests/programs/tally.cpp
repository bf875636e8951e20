#include <fstream>
#include <new>
#include <stdexcept>
#include <thread>

struct alignas(64) Line {
    char bytes[128];
};

template <class T> static void use(T *place) { asm volatile("" ::"r"(place) : "memory"); }

__attribute__((noinline)) void creates(long n)
{
    for (long i = 0; i < n; i++) {
        int *many = new int[100];
        use(many);
        delete[] many;
        double *one = new (std::nothrow) double(3);
        use(one);
        delete one;
        Line *line = new Line;
        use(line);
        delete line;
    }
}

/* Each failure allocates its exception, and nothing else. */
__attribute__((noinline)) long fails(long n)
{
    long failures = 0;
    for (long i = 0; i < n; i++) {
        volatile size_t size = size_t(1) << 60;
        try {
            use(new char[size]);
        } catch (const std::bad_alloc &) {
            failures++;
        }
    }
    return failures;
}

__attribute__((noinline)) void streams(long n)
{
    std::ofstream file("stream.data");
    for (long i = 0; i < n; i++) file << "a line\n";
}

int main()
{
    creates(1000);
    long failures = fails(10);
    std::thread([] { creates(500); }).join();
    streams(10000);
    return failures == 10 ? 0 : 1;
}
