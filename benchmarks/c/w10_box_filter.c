// W10: y[i,j] = sum of x[i+s,j+t] / 49, s, t < 7; n = 2048. Along four rows at a time, in
// registers: first their columns, which share four of ten rows, then windows, by sums of two.
#include "vectors.h"
enum { N = 2048, X = N + 6 };
static const f32 zeros[N] __attribute__((aligned(64)));
#define SHIFT(a, b, k)                                                                             \
  _mm512_castsi512_ps(                                                                             \
      _mm512_alignr_epi32(_mm512_castps_si512(b), _mm512_castps_si512(a), k))
// the lanes of a vector at `at` that lie in 0..n
ALW __mmask16 inside(int at, int n) {
  int left = n - at, last = left >= 16 ? 0xffff : left > 0 ? (1 << left) - 1 : 0;
  return last & (at < 0 ? 0xffff << -at : 0xffff);
}
// to[r] = sum of seven rows from r on, r < 4, at one vector of columns; 0 outside 0..n
ALW void columns(const f32 *const rows[10], int at, int n, __m512 to[4]) {
  __m512 v[10];
  __mmask16 m = inside(at, n);
#pragma GCC unroll 10
  for (int r = 0; r < 10; r++)
    v[r] = _mm512_maskz_loadu_ps(m, rows[r] + at);
  __m512 middle = ADD(ADD(v[3], v[4]), ADD(v[5], v[6]));
  __m512 above = ADD(v[1], v[2]), below = ADD(v[7], v[8]);
  to[0] = ADD(middle, ADD(v[0], above));
  to[1] = ADD(middle, ADD(above, v[7]));
  to[2] = ADD(middle, ADD(v[2], below));
  to[3] = ADD(middle, ADD(below, v[9]));
}
// `count` rows of m means, of rows of n elements, the first window from column `first` on
ALW void strip(const f32 *const rows[10], int first, int n, f32 *y, int m, int count) {
  __m512 a[4], b[4], two[4];
  columns(rows, first, n, a);
  columns(rows, first + 16, n, b);
#pragma GCC unroll 4
  for (int r = 0; r < 4; r++)
    two[r] = ADD(a[r], SHIFT(a[r], b[r], 1));
  for (int j = 0; j < m; j += 16) {
    __m512 c[4];
    columns(rows, first + j + 32, n, c);
#pragma GCC unroll 4
    for (int r = 0; r < 4; r++) {
      __m512 next = ADD(b[r], SHIFT(b[r], c[r], 1));
      __m512 six = ADD(ADD(two[r], SHIFT(two[r], next, 2)), SHIFT(two[r], next, 4));
      __m512 mean = MUL(BC(1 / 49.f), ADD(six, SHIFT(a[r], b[r], 6)));
      if (r < count)
        _mm512_mask_storeu_ps(y + r * m + j, inside(j, m), mean);
      a[r] = b[r];
      b[r] = c[r];
      two[r] = next;
    }
  }
}
void w10_value(const f32 *x, f32 *y) {
#pragma omp parallel for num_threads(NT)
  for (int i = 0; i < N; i += 4) {
    const f32 *rows[10];
    for (int r = 0; r < 10; r++)
      rows[r] = x + (long)(i + r) * X;
    strip(rows, 0, X, y + (long)i * N, N, 4);
  }
}
// the same of ct with zeros around
void w10_gradients(const f32 *x, const f32 *y, const f32 *ct, f32 *dx) {
#pragma omp parallel for num_threads(NT)
  for (int i = 0; i < X; i += 4) {
    const f32 *rows[10];
    for (int r = 0; r < 10; r++)
      rows[r] = i + r < 6 || i + r >= N + 6 ? zeros : ct + (long)(i + r - 6) * N;
    strip(rows, -6, N, dx + (long)i * X, X, X - i < 4 ? X - i : 4);
  }
}
