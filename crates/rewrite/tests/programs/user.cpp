// Uses the library: its answers, its exceptions, its addresses.
#include <cstdio>
#include <exception>

using Function = int (*)(int);
extern "C" int checked(int);
extern "C" int guarded(int);
extern "C" Function which();
extern "C" bool is_checked(Function);

int main()
{
    int sum = 0;
    for (int i = -3; i < 9; i++) {
        sum += guarded(i);
        try {
            sum += checked(i);
        } catch (std::exception &error) {
            std::puts(error.what());
        }
    }
    std::printf("%d %d %d\n", sum, which() == checked, is_checked(checked));
    return 0;
}
