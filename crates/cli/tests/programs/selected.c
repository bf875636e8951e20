/* Functions of growing complexity: one path, two, a loop with a branch. */
static volatile int state = 3;

__attribute__((noinline)) int leaf(void) { return state; }

__attribute__((noinline)) int branch(int a) {
    if (a > state)
        state = leaf();
    return state + 1;
}

__attribute__((noinline)) int search(const volatile int *field, int length) {
    for (int index = 0; index < length; index++)
        if (field[index] == leaf())
            return index;
    return -1;
}

int main(void) {
    int field[4] = {9, 7, 5, 3};
    return branch(2) + branch(7) + search(field, 4) - 11;
}
