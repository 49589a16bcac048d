// W11: y[i,j] = sum_{s,t} w[i%2,s] w[j%2,t] x[i/2+s,j/2+t], from 515 x 515 to 1024 x 1024: rows
// first, into the four that columns need.
#include "vectors.h"
enum { N = 512, X = N + 3, M = 2 * N };
static f32 partial[NT][16];
// h[2j+q] = sum_t w[q,t] x[j+t]
ALW void rows(const f32 *x, const __m512 w[8], f32 *h) {
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
  for (int j = 0; j < N; j += 16) {
    __m512 e = Z0, o = Z0;
#pragma GCC unroll 4
    for (int t = 0; t < 4; t++) {
      __m512 v = LD(x + j + t);
      e = FMA(w[t], v, e);
      o = FMA(w[4 + t], v, o);
    }
    _mm512_store_ps(h + 2 * j, _mm512_permutex2var_ps(e, low, o));
    _mm512_store_ps(h + 2 * j + 16, _mm512_permutex2var_ps(e, high, o));
  }
}
ALW void weights(const f32 *w, __m512 to[8]) {
#pragma GCC unroll 8
  for (int k = 0; k < 8; k++)
    to[k] = BC(w[k]);
}
void w11_value(const f32 *w, const f32 *x, f32 *y) {
#pragma omp parallel num_threads(NT)
  {
    f32 h[4][M] __attribute__((aligned(64)));
    __m512 W[8];
    weights(w, W);
#pragma omp for
    for (int block = 0; block < N; block += 64) {
      for (int r = block; r < block + 3; r++)
        rows(x + (long)r * X, W, h[r & 3]);
      for (int i = block; i < block + 64; i++) {
        rows(x + (long)(i + 3) * X, W, h[(i + 3) & 3]);
        f32 *o = y + 2l * i * M;
        for (int j = 0; j < M; j += 16) {
          __m512 a = Z0, b = Z0;
#pragma GCC unroll 4
          for (int s = 0; s < 4; s++) {
            __m512 v = _mm512_load_ps(h[(i + s) & 3] + j);
            a = FMA(W[s], v, a);
            b = FMA(W[4 + s], v, b);
          }
          ST(o + j, a);
          ST(o + M + j, b);
        }
      }
    }
  }
}
// row r: dh = sum_{p,s} w[p,s] ct[2(r-s)+p], and from it dx; dw by both axes, with h again
void w11_gradients(const f32 *w, const f32 *x, const f32 *y, const f32 *ct, f32 *dw, f32 *dx) {
  static const f32 zeros[M] __attribute__((aligned(64)));
#pragma omp parallel num_threads(NT)
  {
    f32 h[M] __attribute__((aligned(64))), d[2][N + 64] __attribute__((aligned(64)));
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    __m512 W[8], acc[8], acc2[8];
    memset(d, 0, sizeof d);
    weights(w, W);
    for (int k = 0; k < 8; k++)
      acc[k] = acc2[k] = Z0;
#pragma omp for
    for (int r = 0; r < X; r++) {
      const f32 *p[8], *row = x + (long)r * X;
      for (int k = 0; k < 8; k++) {
        int i = r - k % 4;
        p[k] = i < 0 || i >= N ? zeros : ct + (2l * i + k / 4) * M;
      }
      rows(row, W, h);
      for (int j = 0; j < M; j += 32) {
        __m512 e[2];
#pragma GCC unroll 2
        for (int v = 0; v < 2; v++) {
          __m512 s = Z0, t = Z0, hv = _mm512_load_ps(h + j + v * 16);
#pragma GCC unroll 4
          for (int k = 0; k < 4; k++) {
            __m512 a = LD(p[k] + j + v * 16), b = LD(p[4 + k] + j + v * 16);
            s = FMA(W[k], a, s);
            t = FMA(W[4 + k], b, t);
            acc[k] = FMA(a, hv, acc[k]);
            acc[4 + k] = FMA(b, hv, acc[4 + k]);
          }
          e[v] = ADD(s, t);
        }
        _mm512_store_ps(d[0] + 16 + j / 2, _mm512_permutex2var_ps(e[0], even, e[1]));
        _mm512_store_ps(d[1] + 16 + j / 2, _mm512_permutex2var_ps(e[0], odd, e[1]));
      }
      for (int c = 0; c < X; c += 16) {
        __m512 s = Z0, t = Z0;
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
          s = FMA(W[k], LD(d[0] + 16 + c - k), s);
          t = FMA(W[4 + k], LD(d[1] + 16 + c - k), t);
        }
        _mm512_mask_storeu_ps(dx + (long)r * X + c, c < N ? 0xffff : 7, ADD(s, t));
        if (c < N) {
          __m512 a = LD(d[0] + 16 + c), b = LD(d[1] + 16 + c);
#pragma GCC unroll 4
          for (int k = 0; k < 4; k++) {
            __m512 v = LD(row + c + k);
            acc2[k] = FMA(a, v, acc2[k]);
            acc2[4 + k] = FMA(b, v, acc2[4 + k]);
          }
        }
      }
    }
    for (int k = 0; k < 8; k++)
      partial[omp_get_thread_num()][k] = _mm512_reduce_add_ps(ADD(acc[k], acc2[k]));
  }
  for (int k = 0; k < 8; k++) {
    dw[k] = 0;
    for (int t = 0; t < NT; t++)
      dw[k] += partial[t][k];
  }
}
