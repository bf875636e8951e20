/* A library that asks how many threads a parallel region of its own has. */
int members(void)
{
    int count = 0;
#pragma omp parallel num_threads(3) reduction(+ : count)
    count++;
    return count;
}
