// Says how many frames there are above a function, and how the walk over them ends.
#include <stdio.h>
#include <unwind.h>

static _Unwind_Reason_Code frame(struct _Unwind_Context *context, void *count) {
    int number = (*(int *)count)++;
    if (_Unwind_GetIP(context) == 0) printf("frame %d is nowhere\n", number);
    return _URC_NO_REASON;
}

__attribute__((noipa)) void walk(void) {
    int count = 0;
    int end = _Unwind_Backtrace(frame, &count);
    printf("%d frames, end %d\n", count, end);
}

__attribute__((noipa)) void deeper(int levels) {
    if (levels > 0) deeper(levels - 1);
    else walk();
    printf("%d\n", levels);
}

int main(void) { deeper(5); }
