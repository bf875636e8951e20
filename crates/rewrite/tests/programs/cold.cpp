// An object of `main` that is destroyed when an exception goes through: the landing pad is in the cold part, in front of the entry.
// So it is in `by_pointer`, whose last call there goes through a pointer that tells nothing.
#include <cstdio>
#include <cstdlib>
#include <vector>

[[noreturn]] __attribute__((noinline, noipa)) void leave(int status) { std::printf("leave %d\n", status); std::exit(status); }
void (*volatile pointer)(int) = leave;

__attribute__((noinline, noipa)) int use(std::vector<int> &list) { if (list.size() > 2000) throw 5; return list[7]; }

__attribute__((noinline, noipa)) int by_pointer(int count)
{
    if (__builtin_expect(count > 100, 0)) { std::puts("cold"); pointer(3); __builtin_unreachable(); }
    return count * 3;
}

int main()
{
    std::vector<int> list(1000);
    std::printf("%d %d\n", use(list), by_pointer(14));
    try {
        std::vector<int> more(3000);
        std::printf("%d\n", use(more));
    } catch (int number) {
        std::printf("caught %d\n", number);
    }
    return by_pointer(use(list) + 101);
}
