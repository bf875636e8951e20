// Every loop has a mark on its line.
#include <cstdlib>
#include <vector>

#define KEEP __attribute__((noinline))

template <class F> static inline __attribute__((always_inline)) void each(int n, F f)
{
    for (int i = 0; i < n; i++) // loop
        f(i);
}

struct Grid {
    std::vector<double> cells;
    double sum() const
    {
        double s = 0;
        for (double cell : cells) // loop
            s = s * 0.5 + cell;
        return s;
    }
    double smooth(int rounds);
};

KEEP double Grid::smooth(int rounds)
{
    double d = 0;
    for (int r = 0; r < rounds; r++) { // loop
        double s = sum();
        for (std::size_t i = 1; i + 1 < cells.size(); i++) // loop
            cells[i] = cells[i - 1] + cells[i + 1] + s;
        d += sum();
    }
    return d;
}

KEEP int words(const std::vector<int> &all)
{
    int n = 0;
    for (const auto &one : all) // loop
        n += one ^ std::rand();
    each(n, [&](int i) {
        n += i;
        while (std::rand() % 3) // loop
            n ^= i;
    });
    return n;
}

static inline __attribute__((always_inline)) double halved(double s, int n) { while (n--) // loop
        s = s * 0.5 + std::rand();
    return s;
}

int main(int c, char **)
{
    Grid grid{std::vector<double>(c + 10, 1.0)};
    int n = words(std::vector<int>(c + 5, c));
    each(c, [&](int i) { n += i * std::rand(); });
    return grid.smooth(c) > halved(n, c);
}
