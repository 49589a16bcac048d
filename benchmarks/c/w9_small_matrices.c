// W9: y[b] = a[b] c[b] for 65536 pairs of 4 x 4; W9b: for 4096 pairs of 16 x 16. A matrix of 4 x 4
// is one vector, a row of 16 x 16 is one.
#include "tiles.h"
enum { B4 = 65536, B16 = 4096 };
// a c, where lanes of 128 bits are rows: column k of a in all places of its row, times row k of c
ALW __m512 mul4(__m512 a, __m512 c) {
  __m512 p = MUL(_mm512_permute_ps(a, 0x00), _mm512_shuffle_f32x4(c, c, 0x00));
  __m512 q = MUL(_mm512_permute_ps(a, 0x55), _mm512_shuffle_f32x4(c, c, 0x55));
  p = FMA(_mm512_permute_ps(a, 0xaa), _mm512_shuffle_f32x4(c, c, 0xaa), p);
  q = FMA(_mm512_permute_ps(a, 0xff), _mm512_shuffle_f32x4(c, c, 0xff), q);
  return ADD(p, q);
}
ALW __m512 transpose4(__m512 a) {
  const __m512i places = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_ps(places, a);
}
void w9_value(const f32 *a, const f32 *c, f32 *y) {
#pragma omp parallel for num_threads(NT)
  for (long b = 0; b < B4 * 16; b += 16)
    ST(y + b, mul4(LD(a + b), LD(c + b)));
}
void w9_gradients(const f32 *a, const f32 *c, const f32 *y, const f32 *ct, f32 *da, f32 *dc) {
#pragma omp parallel for num_threads(NT)
  for (long b = 0; b < B4 * 16; b += 16) {
    __m512 e = LD(ct + b);
    ST(da + b, mul4(e, transpose4(LD(c + b))));
    ST(dc + b, mul4(transpose4(LD(a + b)), e));
  }
}
// row i of the result, of a in memory (elements of the row `step` apart) and c in registers
ALW __m512 row16(const f32 *a, int step, const __m512 c[16]) {
  __m512 p = Z0, q = Z0;
#pragma GCC unroll 16
  for (int k = 0; k < 16; k += 2) {
    p = FMA(BC(a[k * step]), c[k], p);
    q = FMA(BC(a[(k + 1) * step]), c[k + 1], q);
  }
  return ADD(p, q);
}
ALW void rows16(const f32 *c, __m512 r[16]) {
#pragma GCC unroll 16
  for (int k = 0; k < 16; k++)
    r[k] = LD(c + k * 16);
}
void w9b_value(const f32 *a, const f32 *c, f32 *y) {
#pragma omp parallel for num_threads(NT)
  for (long b = 0; b < B16 * 256; b += 256) {
    __m512 r[16];
    rows16(c + b, r);
    for (int i = 0; i < 256; i += 16)
      ST(y + b + i, row16(a + b + i, 1, r));
  }
}
void w9b_gradients(const f32 *a, const f32 *c, const f32 *y, const f32 *ct, f32 *da, f32 *dc) {
#pragma omp parallel for num_threads(NT)
  for (long b = 0; b < B16 * 256; b += 256) {
    __m512 r[16];
    transposed16(c + b, 16, r);
    for (int i = 0; i < 256; i += 16)
      ST(da + b + i, row16(ct + b + i, 1, r));
    rows16(ct + b, r);
    for (int k = 0; k < 16; k++)
      ST(dc + b + k * 16, row16(a + b + k, 16, r));
  }
}
