#include "vectors.h"
// W7: y[c]=g[c]*sum_{n,hw} x[n,c,hw]; saves S[c]
enum { N = 32, C = 64, L = 56 * 56, R = 4096 };
void w7_value(const f32 *x, const f32 *g, f32 *y, f32 *S) {
  static f32 P[NT][C];
#pragma omp parallel num_threads(NT)
  {
    int id = omp_get_thread_num();
    for (int c = 0; c < C; c++)
      P[id][c] = 0;
#pragma omp for
    for (int n = 0; n < N; n++)
      for (int c = 0; c < C; c++) {
        const f32 *p = x + ((size_t)n * C + c) * L;
        __m512 a = Z0, b = Z0, e = Z0, f = Z0;
        int l = 0;
        for (; l + 64 <= L; l += 64) {
          a = ADD(a, LD(p + l));
          b = ADD(b, LD(p + l + 16));
          e = ADD(e, LD(p + l + 32));
          f = ADD(f, LD(p + l + 48));
        }
        f32 s = _mm512_reduce_add_ps(ADD(ADD(a, b), ADD(e, f)));
        for (; l < L; l++)
          s += p[l];
        P[id][c] += s;
      }
  }
  for (int c = 0; c < C; c++) {
    f32 s = 0;
    for (int t = 0; t < NT; t++)
      s += P[t][c];
    S[c] = s;
    y[c] = g[c] * s;
  }
}
void w7_gradients(const f32 *x, const f32 *g, const f32 *y, const f32 *S, const f32 *ct, f32 *dx,
                  f32 *dg) {
  for (int c = 0; c < C; c++)
    dg[c] = ct[c] * S[c];
#pragma omp parallel for num_threads(NT) collapse(2)
  for (int n = 0; n < N; n++)
    for (int c = 0; c < C; c++) {
      f32 *p = dx + ((size_t)n * C + c) * L;
      __m512 v = BC(ct[c] * g[c]);
      for (int l = 0; l < L; l += 16)
        _mm512_stream_ps(p + l, v);
    } // L%16==0
}
// W7b: y[i]=log(sum_j exp(x[i,j])), R * R
void w7b_value(const f32 *x, f32 *y) {
#pragma omp parallel for num_threads(NT)
  for (int i = 0; i < R; i++) {
    const f32 *p = x + (size_t)i * R;
    __m512 a = Z0, b = Z0;
    for (int j = 0; j < R; j += 32) {
      a = ADD(a, vexp(LD(p + j)));
      b = ADD(b, vexp(LD(p + j + 16)));
    }
    y[i] = logf(_mm512_reduce_add_ps(ADD(a, b)));
  }
}
void w7b_gradients(const f32 *x, const f32 *y, const f32 *ct, f32 *dx) {
#pragma omp parallel for num_threads(NT)
  for (int i = 0; i < R; i++) {
    const f32 *p = x + (size_t)i * R;
    f32 *o = dx + (size_t)i * R;
    __m512 yv = BC(y[i]), c = BC(ct[i]);
    for (int j = 0; j < R; j += 16)
      _mm512_stream_ps(o + j, MUL(c, vexp(SUB(LD(p + j), yv))));
  }
}
