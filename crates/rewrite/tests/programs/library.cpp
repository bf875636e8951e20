// A library whose functions throw, and compare their own addresses.
#include <stdexcept>
#include <string>

extern "C" int checked(int x)
{
    if (x < 0) throw std::invalid_argument("negative: " + std::to_string(x));
    switch (x) {
    case 0: return 7;
    case 1: return 1;
    case 2: return 40;
    case 3: return -9;
    case 4: return 12;
    case 5: return 5;
    default: return x * x;
    }
}

using Function = int (*)(int);
extern "C" Function which() { return checked; }
extern "C" bool is_checked(Function function) { return function == checked; }
extern "C" int guarded(int x)
{
    try {
        return checked(x);
    } catch (std::logic_error &) {
        return -1;
    }
}
#ifdef ROOM
extern "C" { char room[3 << 20]; }
#endif
