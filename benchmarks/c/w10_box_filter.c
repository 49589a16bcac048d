// W10: y[i,j] = sum of x[i+s,j+t] / 49, s, t < 7; n = 2048. Columns first, four rows at a time, which
// share four of their ten rows; then rows, by sums of two.
#include "vectors.h"
enum { N = 2048, X = N + 6, BUF = X + 64 };
static const f32 zeros[N] __attribute__((aligned(64)));
#define SHIFT(a, b, k)                                                                             \
  _mm512_castsi512_ps(                                                                             \
      _mm512_alignr_epi32(_mm512_castps_si512(b), _mm512_castps_si512(a), k))
// to[r][j] = sum of seven rows from r on, r < 4, over one vector of columns
ALW void columns(const f32 *const rows[10], int j, __mmask16 m, f32 *to) {
  __m512 v[10];
#pragma GCC unroll 10
  for (int r = 0; r < 10; r++)
    v[r] = _mm512_maskz_loadu_ps(m, rows[r] + j);
  __m512 middle = ADD(ADD(v[3], v[4]), ADD(v[5], v[6]));
  __m512 a1 = ADD(v[1], v[2]), b1 = ADD(v[7], v[8]);
  ST(to + j, ADD(middle, ADD(v[0], a1)));
  ST(to + BUF + j, ADD(middle, ADD(a1, v[7])));
  ST(to + 2 * BUF + j, ADD(middle, ADD(v[2], b1)));
  ST(to + 3 * BUF + j, ADD(middle, ADD(b1, v[9])));
}
// y[j] = sum of from[j..j+7) / 49; whole vectors of y pass by the caches
ALW void windows(const f32 *from, f32 *y, int n) {
  int head = -((size_t)y >> 2) & 15;
  const __m512 part = BC(1 / 49.f);
#define AT(j)                                                                                      \
  MUL(part, ADD(ADD(ADD(LD(from + (j)), LD(from + (j) + 1)),                                       \
                    ADD(LD(from + (j) + 2), LD(from + (j) + 3))),                                  \
                ADD(ADD(LD(from + (j) + 4), LD(from + (j) + 5)), LD(from + (j) + 6))))
  if (head)
    _mm512_mask_storeu_ps(y, (1 << head) - 1, AT(0));
  int j = head;
  __m512 a = LD(from + j), b = LD(from + j + 16), p = ADD(a, SHIFT(a, b, 1));
  for (; j + 16 <= n; j += 16) {
    __m512 c = LD(from + j + 32), q = ADD(b, SHIFT(b, c, 1));
    __m512 s = ADD(ADD(p, SHIFT(p, q, 2)), ADD(SHIFT(p, q, 4), SHIFT(a, b, 6)));
    _mm512_stream_ps(y + j, MUL(part, s));
    a = b;
    b = c;
    p = q;
  }
  if (j < n)
    _mm512_mask_storeu_ps(y + j, (1 << (n - j)) - 1, AT(j));
}
void w10_value(const f32 *x, f32 *y) {
#pragma omp parallel num_threads(NT)
  {
    f32 buffer[4 * BUF] __attribute__((aligned(64)));
    memset(buffer, 0, sizeof buffer);
#pragma omp for
    for (int i = 0; i < N; i += 4) {
      const f32 *rows[10];
      for (int r = 0; r < 10; r++)
        rows[r] = x + (long)(i + r) * X;
      for (int j = 0; j < N; j += 16)
        columns(rows, j, 0xffff, buffer);
      columns(rows, N, 0x3f, buffer);
      for (int r = 0; r < 4; r++)
        windows(buffer + r * BUF, y + (long)(i + r) * N, N);
    }
  }
}
// the same of ct with zeros around
void w10_gradients(const f32 *x, const f32 *y, const f32 *ct, f32 *dx) {
#pragma omp parallel num_threads(NT)
  {
    f32 buffer[4 * BUF] __attribute__((aligned(64)));
    memset(buffer, 0, sizeof buffer);
#pragma omp for
    for (int i = 0; i < X + 2; i += 4) {
      const f32 *rows[10];
      for (int r = 0; r < 10; r++)
        rows[r] = i + r < 6 || i + r >= N + 6 ? zeros : ct + (long)(i + r - 6) * N;
      for (int j = 0; j < N; j += 16)
        columns(rows, j, 0xffff, buffer + 16);
      for (int r = 0; r < 4 && i + r < X; r++)
        windows(buffer + r * BUF + 10, dx + (long)(i + r) * X, X);
    }
  }
}
