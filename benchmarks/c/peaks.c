// What the machine can do at most: multiply-adds and additions in registers, and reading.
#include "vectors.h"
enum { SUMS = 24 };
void peaks_fma(long n) { // n times 24 vectors
  __m512 a[SUMS], x = BC(0.5f);
#pragma GCC unroll 24
  for (int k = 0; k < SUMS; k++)
    a[k] = BC(k);
  for (long i = 0; i < n; i++)
#pragma GCC unroll 24
    for (int k = 0; k < SUMS; k++) {
      a[k] = FMA(a[k], x, x);
      KEEP(a[k]);
    }
}
f32 peaks_read(const f32 *x, long n) { // n floats, by 64
  __m512 a[4] = {Z0, Z0, Z0, Z0};
  for (long i = 0; i < n; i += 64)
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++)
      a[k] = ADD(a[k], LD(x + i + 16 * k));
  return _mm512_reduce_add_ps(ADD(ADD(a[0], a[1]), ADD(a[2], a[3])));
}
void peaks_add(long n) { // n times 24 vectors
  __m512 a[SUMS], x = BC(0.5f);
#pragma GCC unroll 24
  for (int k = 0; k < SUMS; k++)
    a[k] = BC(k);
  for (long i = 0; i < n; i++)
#pragma GCC unroll 24
    for (int k = 0; k < SUMS; k++) {
      a[k] = ADD(a[k], x);
      KEEP(a[k]);
    }
}
void peaks_both(long n) { // n times 12 additions and 12 multiply-adds
  __m512 a[SUMS], x = BC(0.5f);
#pragma GCC unroll 24
  for (int k = 0; k < SUMS; k++)
    a[k] = BC(k);
  for (long i = 0; i < n; i++)
#pragma GCC unroll 12
    for (int k = 0; k < SUMS; k += 2) {
      a[k] = ADD(a[k], x);
      KEEP(a[k]);
      a[k + 1] = FMA(a[k + 1], x, x);
      KEEP(a[k + 1]);
    }
}
void peaks_chain(long n) { // n multiply-adds, each of which waits for the one before
  __m512 a = BC(1), x = BC(0.5f);
  for (long i = 0; i < n; i++) {
    a = FMA(a, x, x);
    KEEP(a);
  }
}
void peaks_load(const f32 *x, long n) { // n times 16 vectors
  for (long i = 0; i < n; i++) {
    __asm__ volatile("" : "+r"(x)); // it may have changed: nothing is loaded ahead
#pragma GCC unroll 16
    for (int k = 0; k < 16; k++) {
      __m512 v = LD(x + 16 * k);
      KEEP(v);
    }
  }
}
