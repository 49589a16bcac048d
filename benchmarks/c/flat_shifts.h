// Convolutions as sums of shifts of flat planes: Y[o,m] = sum_{c,s} W[o][c*S+s] X[c*ldx + off[s] +
// m]. Rows of a plane lie behind each other, so that a shift by rows and columns is one number;
// what comes out beyond the end of a row is thrown away.
#pragma once
#include "vectors.h"
ALW void tile(const f32 *X, int ldx, const int *off, int S, int C, const f32 *W, f32 *Y, int ldy,
              int ystep) { // 8 o x 48 m ; W packed [c*S+s][8]
  __m512 acc[8][3];
#pragma GCC unroll 8
  for (int o = 0; o < 8; o++)
#pragma GCC unroll 3
    for (int q = 0; q < 3; q++)
      acc[o][q] = Z0;
  for (int c = 0; c < C; c++)
    for (int s = 0; s < S; s++) {
      const f32 *p = X + c * ldx + off[s];
      __m512 x0 = LD(p), x1 = LD(p + 16), x2 = LD(p + 32);
      KEEP(x0);
      KEEP(x1);
      KEEP(x2);
      const f32 *w = W + (c * S + s) * 8;
#pragma GCC unroll 8
      for (int o = 0; o < 8; o++) {
        __m512 wv = BC(w[o]);
        acc[o][0] = FMA(wv, x0, acc[o][0]);
        acc[o][1] = FMA(wv, x1, acc[o][1]);
        acc[o][2] = FMA(wv, x2, acc[o][2]);
      }
    }
#pragma GCC unroll 8
  for (int o = 0; o < 8; o++)
#pragma GCC unroll 3
    for (int q = 0; q < 3; q++)
      ST(Y + o * ldy + q * 16, acc[o][q]);
}
// X [C][ldx] with >=48 slack after the end; Y [O][ldy], ldy>=roundup(L,48)
static void convflat(const f32 *X, int ldx, const int *off, int S, int C, const f32 *Wp, int O,
                     f32 *Y, int ldy, int L) {
  for (int m = 0; m < L; m += 48)
    for (int o = 0; o < O; o += 8)
      tile(X + m, ldx, off, S, C, Wp + (size_t)o * C * S, Y + (size_t)o * ldy + m, ldy, 0);
}
// dW[o][c*S+s] += sum_m CT[o][m] X[c][off[s]+m], m multiple of 16 (CT zero padded). rows o0..o0+4,
// cols q0..q0+4
ALW void wtile(const f32 *CT, int ldc, const f32 *x0, const f32 *x1, const f32 *x2, const f32 *x3,
               int L, __m512 acc[4][4]) {
  for (int m = 0; m < L; m += 16) {
    __m512 c[4];
#pragma GCC unroll 4
    for (int o = 0; o < 4; o++)
      c[o] = LD(CT + o * ldc + m);
    __m512 a = LD(x0 + m), b = LD(x1 + m), d = LD(x2 + m), e = LD(x3 + m);
#pragma GCC unroll 4
    for (int o = 0; o < 4; o++) {
      acc[o][0] = FMA(c[o], a, acc[o][0]);
      acc[o][1] = FMA(c[o], b, acc[o][1]);
      acc[o][2] = FMA(c[o], d, acc[o][2]);
      acc[o][3] = FMA(c[o], e, acc[o][3]);
    }
  }
}
// the sums of 16 vectors, by transposing while adding
ALW __m512 lanes_added(const __m512 acc[4][4]) {
  __m512 a[4];
#pragma GCC unroll 4
  for (int p = 0; p < 4; p++) { // in each quarter, the sums of its four elements
    __m512d u = _mm512_castps_pd(ADD(_mm512_unpacklo_ps(acc[p][0], acc[p][1]),
                                     _mm512_unpackhi_ps(acc[p][0], acc[p][1])));
    __m512d v = _mm512_castps_pd(ADD(_mm512_unpacklo_ps(acc[p][2], acc[p][3]),
                                     _mm512_unpackhi_ps(acc[p][2], acc[p][3])));
    a[p] = ADD(_mm512_castpd_ps(_mm512_unpacklo_pd(u, v)),
               _mm512_castpd_ps(_mm512_unpackhi_pd(u, v)));
  }
#define HALVES(a, b) ADD(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd))
  return HALVES(HALVES(a[0], a[1]), HALVES(a[2], a[3]));
}
static void wgrad(const f32 *CT, int ldc, int nstr_ct, const f32 *X, int ldx, int nstr_x,
                  const int *off, int S, int C, int O, int NB, int L, f32 *dW, int q_lo, int q_hi) {
  enum { MB = 1024 };
  for (int n = 0; n < NB; n++)
    for (int m = 0; m < L; m += MB) {
      int ll = L - m < MB ? L - m : MB;
      for (int q = q_lo; q < q_hi; q += 4)
        for (int o = 0; o < O; o += 4) {
          __m512 acc[4][4];
#pragma GCC unroll 4
          for (int p = 0; p < 4; p++)
#pragma GCC unroll 4
            for (int r = 0; r < 4; r++)
              acc[p][r] = Z0;
          const f32 *xp[4];
          for (int r = 0; r < 4; r++) {
            int qq = q + r;
            xp[r] = X + (size_t)n * nstr_x + (qq / S) * ldx + off[qq % S] + m;
          }
          wtile(CT + (size_t)n * nstr_ct + (size_t)o * ldc + m, ldc, xp[0], xp[1], xp[2], xp[3], ll,
                acc);
          __m512 sums = lanes_added(acc);
#pragma GCC unroll 4
          for (int p = 0; p < 4; p++) {
            f32 *t = dW + (size_t)(o + p) * C * S + q;
            __m128 v = _mm512_extractf32x4_ps(sums, p);
            _mm_storeu_ps(t, n == 0 && m == 0 ? v : _mm_add_ps(_mm_loadu_ps(t), v));
          }
        }
    }
}
