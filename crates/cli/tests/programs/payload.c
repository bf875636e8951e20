/* Prints the last eight bytes of its own file, as self-extracting programs read their data. */
#include <stdio.h>

int main(void)
{
    char data[9] = {0};
    FILE *self = fopen("/proc/self/exe", "rb");
    if (!self || fseek(self, -8, SEEK_END) != 0 || fread(data, 1, 8, self) != 8)
        return 1;
    puts(data);
    return 0;
}
