// W17: y[d,h,w] = sum_c f[c,h,w] g[c,h,w+d], 32 channels, 128 x 256, 32 displacements. What is read
// at d for one vector is read at d + 16 for the vector before it. It is taken out of two vectors
// that are aligned: a load that crosses lines costs two cycles.
#include "vectors.h"
// the elements of a and b at 16 places; PLACES are those from `first` on
#define CUT(a, places, b) _mm512_permutex2var_ps(a, places, b)
#define PLACES(first)                                                                              \
  _mm512_add_epi32(_mm512_set1_epi32(first),                                                       \
                   _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
enum { C = 32, H = 128, W = 256, D = 32, G = W + D - 1, EDGE = 32, ROW = W + 3 * EDGE };
void w17_value(const f32 *f, const f32 *g, f32 *y) {
#pragma omp parallel for num_threads(NT)
  for (int h = 0; h < H; h++)
    for (int w = 0; w < W; w += 64) {
      // the rows of f lie 128 kB apart, in one set of a cache
      f32 F[C][64] __attribute__((aligned(64))), B[C][96] __attribute__((aligned(64)));
      for (int c = 0; c < C; c++) {
        memcpy(F[c], f + ((long)c * H + h) * W + w, sizeof F[c]);
        memcpy(B[c], g + ((long)c * H + h) * G + w, sizeof B[c]);
      }
      for (int d = 0; d < 16; d += 2) {
        __m512 acc[2][2][4];
        const __m512i from[2] = {PLACES(d), PLACES(d + 1)};
#pragma GCC unroll 2
        for (int e = 0; e < 2; e++)
#pragma GCC unroll 4
          for (int v = 0; v < 4; v++)
            acc[e][0][v] = acc[e][1][v] = Z0;
        for (int c = 0; c < C; c++) {
          const f32 *next = d < 8 ? f + ((long)c * H + h) * W + w + 64 + d * 8
                                  : g + ((long)c * H + h) * G + w + 32 + d * 8;
          _mm_prefetch(next, _MM_HINT_T0); // of the next 64 columns
          __m512 a[4], line[6];
#pragma GCC unroll 6
          for (int v = 0; v < 6; v++) {
            line[v] = _mm512_load_ps(B[c] + v * 16);
            if (v < 4)
              a[v] = _mm512_load_ps(F[c] + v * 16);
          }
#pragma GCC unroll 2
          for (int e = 0; e < 2; e++)
#pragma GCC unroll 5
            for (int v = 0; v < 5; v++) {
              __m512 b = CUT(line[v], from[e], line[v + 1]);
              if (v < 4)
                acc[e][0][v] = FMA(a[v], b, acc[e][0][v]);
              if (v > 0)
                acc[e][1][v - 1] = FMA(a[v - 1], b, acc[e][1][v - 1]);
            }
        }
#pragma GCC unroll 2
        for (int e = 0; e < 2; e++)
#pragma GCC unroll 2
          for (int far = 0; far < 2; far++)
#pragma GCC unroll 4
            for (int v = 0; v < 4; v++)
              ST(y + ((long)(d + e + far * 16) * H + h) * W + w + v * 16, acc[e][far][v]);
      }
    }
}
// to[c][n] = sum_d E[d][n] from[c][n+sign*d], four channels and four vectors; rows of ROW floats
ALW void four(const f32 *from, const f32 *E, int sign, __m512 acc[4][4]) {
#pragma GCC unroll 4
  for (int c = 0; c < 4; c++)
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++)
      acc[c][v] = Z0;
  const int low = sign > 0 ? 0 : 2; // lines before the first vector, where the first one read lies
  for (int d = 0; d < 16; d++) {
    __m512 near[4], far[4];
    const __m512i places = PLACES(sign > 0 ? d : 16 - d);
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++) {
      near[v] = _mm512_load_ps(E + d * ROW + v * 16);
      far[v] = _mm512_load_ps(E + (d + 16) * ROW + v * 16);
    }
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++) {
      __m512 line = _mm512_load_ps(from + c * ROW - low * 16);
#pragma GCC unroll 5
      for (int v = 0; v < 5; v++) {
        __m512 next = _mm512_load_ps(from + c * ROW + (v + 1 - low) * 16);
        __m512 b = CUT(line, places, next);
        int n = sign > 0 ? v : v - 1, o = sign > 0 ? v - 1 : v; // near at n, far at o
        if (n >= 0 && n < 4)
          acc[c][n] = FMA(near[n], b, acc[c][n]);
        if (o >= 0 && o < 4)
          acc[c][o] = FMA(far[o], b, acc[c][o]);
        line = next;
      }
    }
  }
}
void w17_gradients(const f32 *f, const f32 *g, const f32 *y, const f32 *ct, f32 *df, f32 *dg) {
#pragma omp parallel num_threads(NT)
  {
    f32(*F)[ROW] = aligned_alloc(64, C * sizeof *F), (*B)[ROW] = aligned_alloc(64, C * sizeof *B),
     (*E)[ROW] = aligned_alloc(64, D * sizeof *E), (*S)[ROW] = aligned_alloc(64, D * sizeof *S);
    memset(F, 0, C * sizeof *F);
    memset(B, 0, C * sizeof *B);
    memset(S, 0, D * sizeof *S);
#pragma omp for
    for (int h = 0; h < H; h++) {
      for (int c = 0; c < C; c++) {
        memcpy(F[c] + EDGE, f + ((long)c * H + h) * W, W * 4);
        memcpy(B[c], g + ((long)c * H + h) * G, G * 4);
      }
      for (int d = 0; d < D; d++) { // as it is for df, and moved by d for dg
        memcpy(E[d], ct + ((long)d * H + h) * W, W * 4);
        memcpy(S[d] + d, ct + ((long)d * H + h) * W, W * 4);
      }
      for (int c = 0; c < C; c += 4)
        for (int w = 0; w < W + 64; w += 64) {
          __m512 acc[4][4];
          if (w < W) {
            four(B[c] + w, E[0] + w, 1, acc);
#pragma GCC unroll 4
            for (int l = 0; l < 4; l++)
#pragma GCC unroll 4
              for (int v = 0; v < 4; v++)
                ST(df + ((long)(c + l) * H + h) * W + w + v * 16, acc[l][v]);
          }
          four(F[c] + EDGE + w, S[0] + w, -1, acc);
#pragma GCC unroll 4
          for (int l = 0; l < 4; l++)
#pragma GCC unroll 4
            for (int v = 0; v < 4; v++) {
              int at = w + v * 16, left = G - at;
              __mmask16 m = left >= 16 ? 0xffff : left > 0 ? (1 << left) - 1 : 0;
              _mm512_mask_storeu_ps(dg + ((long)(c + l) * H + h) * G + at, m, acc[l][v]);
            }
        }
    }
    free(F);
    free(B);
    free(E);
    free(S);
  }
}
