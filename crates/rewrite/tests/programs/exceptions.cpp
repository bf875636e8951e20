// Exceptions through measured frames: catch, rethrow, cleanup, types told apart, other threads.
#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
    virtual int area(int x) { return x; }
};
struct Picky : Shape {
    int area(int x) override
    {
        if (x % 7 == 0) throw std::runtime_error("picky " + std::to_string(x));
        return x * 2;
    }
};
struct Patient : Picky {
    int area(int x) override
    {
        try {
            return Picky::area(x) + 1;
        } catch (std::logic_error &) {
            return -1;
        }
    }
};
struct Guard {
    int &count;
    explicit Guard(int &count) : count(count) {}
    ~Guard() { count++; }
};

thread_local int depth_seen = 0;

__attribute__((noinline)) int descend(Shape &shape, int depth, int &count)
{
    Guard guard(count);
    depth_seen++;
    return depth == 0 ? shape.area(count % 20) : descend(shape, depth - 1, count) + 1;
}

__attribute__((noinline)) int again(Shape &shape, int i, int &count)
{
    try {
        return descend(shape, i % 5, count);
    } catch (std::runtime_error &error) {
        count += 3;
        if (i % 3 == 0) throw;
        return error.what()[0];
    }
}

__attribute__((noinline)) int outermost(Shape &shape, int i, int &count)
{
    try {
        return again(shape, i, count);
    } catch (const std::exception &error) {
        return dynamic_cast<const std::runtime_error *>(&error) ? 100 : 200;
    } catch (...) {
        return 7;
    }
}

__attribute__((noinline)) int number(int x)
{
    if (x > 3) throw x;
    return x;
}

/* A loop that only its landing pad goes back in. */
__attribute__((noinline)) int until_it_works(int x)
{
    while (true) {
        try {
            return number(x);
        } catch (int) {
            x -= 2;
        }
    }
}

static long work(int n)
{
    Shape plain;
    Picky picky;
    Patient patient;
    Shape *shapes[] = {&plain, &picky, &patient};
    int count = 0;
    long sum = 0;
    for (int i = 0; i < n; i++) {
        sum += outermost(*shapes[i % 3], i, count);
        try {
            sum += number(i % 6);
        } catch (long) {
        } catch (int k) {
            sum += k * 10;
        }
    }
    return sum + depth_seen + until_it_works(n % 10 + 4);
}

int main()
{
    std::vector<std::thread> threads;
    long results[3];
    for (int i = 0; i < 3; i++) threads.emplace_back([&results, i] { results[i] = work(500 + i); });
    for (auto &thread : threads) thread.join();
    for (long result : results) std::printf("%ld\n", result);
    std::map<std::string, std::function<int(int)>> table{{"plus", [](int x) { return x + 1; }},
                                                         {"times", [&](int x) { return x * int(results[0]); }}};
    for (auto &[name, function] : table) std::printf("%s %d\n", name.c_str(), function(3));
    try {
        std::vector<int>().at(3);
    } catch (std::out_of_range &) {
        std::puts("out of range");
    }
    return 4;
}
