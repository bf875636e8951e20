#include <cstdio>
#include <cstdlib>
#include <csetjmp>
#include <stdexcept>
#include <thread>
#include <vector>
volatile long sink;
static inline long small(long n) { return n * 3 + 1; }
__attribute__((noinline)) long leaf(long n) { sink += n; return small(n); }
long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) long deep(int n) { if (n == 0) throw std::runtime_error("x"); return deep(n - 1) + 1; }
static jmp_buf back;
__attribute__((noinline)) void jumps(int n) { if (n == 0) longjmp(back, 1); jumps(n - 1); sink++; }
struct A { long v; A(long n) : v(n) { sink++; } ~A() { sink--; } };
__attribute__((noinline)) long outer(long n) { A a(n); long s = 0; for (long i = 0; i < n; i++) s += leaf(i) + small(i); return s + a.v; }
int main() {
  long s = outer(1000) + fib(15);
  for (int i = 0; i < 10; i++) try { deep(1000); } catch (std::exception &) { s++; }
  for (volatile int i = 0; i < 1000; i++) if (!setjmp(back)) jumps(3); else leaf(i);
  std::vector<std::thread> t; for (int i = 0; i < 8; i++) t.emplace_back([] { outer(100); });
  for (auto &x : t) x.join();
  printf("%ld\n", s); return 0;
}
