#include "vectors.h"
// W6: y[i]=sum_{k in [k0,k1)} d[i+k] v[k], tile 12 i-vectors x 4 k-vectors(step
// 16)
ALW void hank(const f32 *d, const f32 *v, f32 *y, int nv_, int k0,
              int k1) { // 8*16 outputs, k0,k1 multiples of 64
  __m512 acc[8];
#pragma GCC unroll 8
  for (int b = 0; b < 8; b++)
    acc[b] = Z0;
  for (int kb = k0; kb < k1; kb += 64)
    for (int k = kb; k < kb + 16; k++) {
      __m512 v0 = BC(v[k]), v1 = BC(v[k + 16]), v2 = BC(v[k + 32]), v3 = BC(v[k + 48]);
      const f32 *p = d + k;
      __m512 D[11];
#pragma GCC unroll 11
      for (int b = 0; b < 11; b++)
        D[b] = LD(p + 16 * b);
#pragma GCC unroll 8
      for (int b = 0; b < 8; b++) {
        acc[b] = FMA(v0, D[b], acc[b]);
        acc[b] = FMA(v1, D[b + 1], acc[b]);
        acc[b] = FMA(v2, D[b + 2], acc[b]);
        acc[b] = FMA(v3, D[b + 3], acc[b]);
      }
    }
#pragma GCC unroll 8
  for (int b = 0; b < 8; b++)
    ST(y + 16 * b, acc[b]);
}
enum { HN = 4096 };
static f32 Dp[8192 + 256], Vp[3 * HN + 256], Cr[HN];
void w6_value(const f32 *d, const f32 *v, f32 *y) {
  memcpy(Dp, d, 4 * (2 * HN - 1));
#pragma omp parallel for num_threads(NT)
  for (int i = 0; i < HN; i += 128)
    hank(Dp + i, v, y + i, 8, 0, HN);
}
void w6_gradients(const f32 *d, const f32 *v, const f32 *y, const f32 *ct, f32 *dd, f32 *dv) {
  memcpy(Dp, d, 4 * (2 * HN - 1));
  memcpy(Vp + HN, v, 4 * HN);
  for (int i = 0; i < HN; i++)
    Cr[i] = ct[HN - 1 - i]; // Vp zero bordered
  static f32 o2[2 * HN];
#pragma omp parallel num_threads(NT)
  {
#pragma omp for nowait schedule(dynamic, 1)
    for (int i = 0; i < HN; i += 128)
      hank(Dp + i, ct, dv + i, 8, 0, HN);
// dd[l]=sum_i ct[i] v[l-i] = sum_i' Cr[i'] Vp[HN + l-(HN-1)+i'] ; nonzero for 0<=l-(HN-1)+i'<HN
#pragma omp for schedule(dynamic, 1)
    for (int l = 0; l < 2 * HN; l += 128) {
      int lo = HN - 1 - (l + 127), hi = 2 * HN - 1 - l;
      if (lo < 0)
        lo = 0;
      if (hi > HN)
        hi = HN;
      lo &= ~63;
      hi = (hi + 63) & ~63;
      if (hi > HN)
        hi = HN;
      hank(Vp + 1 + l, Cr, o2 + l, 8, lo, hi);
    }
  }
  memcpy(dd, o2, 4 * (2 * HN - 1));
}
// W6b: y = exp(x), whatever shape; results pass by the caches.
enum { n = 64 * 65536 };
void w6b_value(const f32 *x, f32 *y) {
#pragma omp parallel for num_threads(NT)
  for (long i = 0; i < n; i += 16)
    _mm512_stream_ps(y + i, vexp(LD(x + i)));
}
void w6b_gradients(const f32 *x, const f32 *y, const f32 *ct, f32 *dx) {
#pragma omp parallel for num_threads(NT)
  for (long i = 0; i < n; i += 16)
    _mm512_stream_ps(dx + i, MUL(LD(y + i), LD(ct + i)));
}
