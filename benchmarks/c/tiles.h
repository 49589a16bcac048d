// Blocks of products of matrices in registers: R rows of V vectors; and 16 x 16 transposed.
//
// `NAME(A, si, sk, B, ldb, K, I, ldi, C, ldc)`, for r < R and columns v < 16 V:
// C[r*ldc + v] = (I ? I[r*ldi + v] : 0) + sum_{k<K} A[r*si + k*sk] B[k*ldb + v].
#pragma once
#include "vectors.h"
#define UNROLL _Pragma("GCC unroll 16")
#define TILE(NAME, R, V)                                                                           \
  ALW void NAME(const f32 *A, long si, long sk, const f32 *B, long ldb, int K, const f32 *I,       \
                long ldi, f32 *C, long ldc) {                                                      \
    __m512 acc[R][V], b[V];                                                                        \
    UNROLL for (int r = 0; r < R; r++) {                                                           \
      UNROLL for (int v = 0; v < V; v++) acc[r][v] = I ? LD(I + r * ldi + v * 16) : Z0;            \
    }                                                                                              \
    for (int k = 0; k < K; k++) {                                                                  \
      UNROLL for (int v = 0; v < V; v++) {                                                         \
        b[v] = LD(B + k * ldb + v * 16);                                                           \
        KEEP(b[v]);                                                                                \
      }                                                                                            \
      UNROLL for (int r = 0; r < R; r++) {                                                         \
        __m512 a = BC(A[r * si + k * sk]);                                                         \
        UNROLL for (int v = 0; v < V; v++) acc[r][v] = FMA(a, b[v], acc[r][v]);                    \
      }                                                                                            \
    }                                                                                              \
    UNROLL for (int r = 0; r < R; r++) {                                                           \
      UNROLL for (int v = 0; v < V; v++) ST(C + r * ldc + v * 16, acc[r][v]);                      \
    }                                                                                              \
  }
// r[k] = column k of the 16 rows at c
ALW void transposed16(const f32 *c, long ld, __m512 r[16]) {
  __m512 s[16], t[16];
#define PD _mm512_castps_pd
#define PS _mm512_castpd_ps
  UNROLL for (int k = 0; k < 16; k++) s[k] = LD(c + k * ld);
  UNROLL for (int k = 0; k < 16; k += 2) {
    t[k] = _mm512_unpacklo_ps(s[k], s[k + 1]);
    t[k + 1] = _mm512_unpackhi_ps(s[k], s[k + 1]);
  }
  UNROLL for (int k = 0; k < 16; k += 4) {
    s[k] = PS(_mm512_unpacklo_pd(PD(t[k]), PD(t[k + 2])));
    s[k + 1] = PS(_mm512_unpackhi_pd(PD(t[k]), PD(t[k + 2])));
    s[k + 2] = PS(_mm512_unpacklo_pd(PD(t[k + 1]), PD(t[k + 3])));
    s[k + 3] = PS(_mm512_unpackhi_pd(PD(t[k + 1]), PD(t[k + 3])));
  }
  UNROLL for (int k = 0; k < 4; k++) {
    t[k] = _mm512_shuffle_f32x4(s[k], s[k + 4], 0x88);
    t[k + 4] = _mm512_shuffle_f32x4(s[k], s[k + 4], 0xdd);
    t[k + 8] = _mm512_shuffle_f32x4(s[k + 8], s[k + 12], 0x88);
    t[k + 12] = _mm512_shuffle_f32x4(s[k + 8], s[k + 12], 0xdd);
  }
  UNROLL for (int k = 0; k < 4; k++) {
    r[k] = _mm512_shuffle_f32x4(t[k], t[k + 8], 0x88);
    r[k + 8] = _mm512_shuffle_f32x4(t[k], t[k + 8], 0xdd);
    r[k + 4] = _mm512_shuffle_f32x4(t[k + 4], t[k + 12], 0x88);
    r[k + 12] = _mm512_shuffle_f32x4(t[k + 4], t[k + 12], 0xdd);
  }
}
