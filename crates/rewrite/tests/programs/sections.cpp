// Every basic block has a section and an unwind entry of its own: the parts of a function stand anywhere, with names that the linker drops.
#include <algorithm>
#include <cstdio>
#include <vector>

int main()
{
    std::vector<int> numbers;
    for (int i = 0; i < 200; i++)
        numbers.push_back(i * 7919 % 211);
    std::sort(numbers.begin(), numbers.end(), [](int one, int other) { return one > other; });
    std::printf("%d %zu\n", numbers[3], numbers.size());
    return 0;
}
