// W12: the seven-point stencil on 160^3 points.
// W12b: y[i,j,k] = sum_{s,t,u} a[s] b[t] c[u] x[i+s,j+t,k+u], five taps, 128^3: one axis after the
// other, plane by plane.
#include "vectors.h"
enum { M = 160, X = M + 2 };
static const f32 zeros[M] __attribute__((aligned(64)));
void w12_value(const f32 *x, f32 *y) {
#pragma omp parallel for num_threads(NT)
  for (int i = 0; i < M; i++)
    for (int j = 0; j < M; j++) {
      const f32 *c = x + ((long)(i + 1) * X + j + 1) * X + 1;
      f32 *o = y + ((long)i * M + j) * M;
      for (int k = 0; k < M; k += 16) {
        const f32 *p = c + k;
        __m512 s = ADD(ADD(LD(p - X * X), LD(p + X * X)), ADD(LD(p - X), LD(p + X)));
        s = ADD(s, FNMA(BC(6.f), LD(p), ADD(LD(p - 1), LD(p + 1))));
        ST(o + k, s);
      }
    }
}
#define INSIDE(i) ((i) >= 0 && (i) < M)
#define ROW(i, j) (INSIDE(i) && INSIDE(j) ? ct + ((long)(i) * M + (j)) * M : zeros)
void w12_gradients(const f32 *x, const f32 *y, const f32 *ct, f32 *dx) {
#pragma omp parallel num_threads(NT)
  {
    f32 centre[M + 32] __attribute__((aligned(64)));
    memset(centre, 0, sizeof centre);
#pragma omp for
    for (int i = -1; i <= M; i++)
      for (int j = -1; j <= M; j++) {
        const f32 *u = ROW(i - 1, j), *d = ROW(i + 1, j), *l = ROW(i, j - 1), *r = ROW(i, j + 1),
                  *c = ROW(i, j);
        f32 *o = dx + ((long)(i + 1) * X + j + 1) * X + 1;
        for (int k = 0; k < M; k += 16)
          _mm512_store_ps(centre + 16 + k, LD(c + k));
        o[-1] = c[0];
        for (int k = 0; k < M; k += 16) {
          const f32 *p = centre + 16 + k;
          __m512 s = ADD(ADD(LD(u + k), LD(d + k)), ADD(LD(l + k), LD(r + k)));
          s = ADD(s, FNMA(BC(6.f), LD(p), ADD(LD(p - 1), LD(p + 1))));
          ST(o + k, s);
        }
        o[M] = c[M - 1];
      }
  }
}
enum { N = 128, S = 5, W = N + S - 1, PLANE = N * N, ROWS = W * N };
static f32 partial[NT][3][8];
// z[k] = sum_t w[t] p[t][k]
ALW __m512 taps(const __m512 w[S], const f32 *p, int step) {
  __m512 s = MUL(w[0], LD(p));
#pragma GCC unroll 4
  for (int t = 1; t < S; t++)
    s = FMA(w[t], LD(p + t * step), s);
  return s;
}
ALW void weights(const f32 *w, __m512 to[S]) {
#pragma GCC unroll 5
  for (int t = 0; t < S; t++)
    to[t] = BC(w[t]);
}
// all rows of a plane by c, and these by b
static void plane(const f32 *x, const f32 *b, const f32 *c, f32 *z1, f32 *z2) {
  __m512 B[S], C[S];
  weights(b, B);
  weights(c, C);
  for (int r = 0; r < W; r++) {
    for (int k = 0; k < N; k += 16)
      _mm512_store_ps(z1 + r * N + k, taps(C, x + r * W + k, 1));
    if (r >= S - 1)
      for (int k = 0; k < N; k += 16)
        _mm512_store_ps(z2 + (r - S + 1) * N + k, taps(B, z1 + (r - S + 1) * N + k, N));
  }
}
void w12b_value(const f32 *a, const f32 *b, const f32 *c, const f32 *x, f32 *y) {
#pragma omp parallel num_threads(NT)
  {
    static f32 ring[NT][S][PLANE] __attribute__((aligned(64)));
    static f32 z1s[NT][ROWS] __attribute__((aligned(64)));
    int id = omp_get_thread_num(), from = N * id / NT, to = N * (id + 1) / NT;
    f32(*z)[PLANE] = ring[id];
    __m512 A[S];
    weights(a, A);
    for (int r = from; r < to + S - 1; r++) {
      plane(x + (long)r * W * W, b, c, z1s[id], z[r % S]);
      int i = r - S + 1;
      if (i < from)
        continue;
      const f32 *p[S];
      for (int s = 0; s < S; s++)
        p[s] = z[(i + s) % S];
      for (int k = 0; k < PLANE; k += 16) {
        __m512 v = MUL(A[0], _mm512_load_ps(p[0] + k));
#pragma GCC unroll 4
        for (int s = 1; s < S; s++)
          v = FMA(A[s], _mm512_load_ps(p[s] + k), v);
        ST(y + (long)i * PLANE + k, v);
        _mm_prefetch(x + (long)(r + 1) * W * W + k, _MM_HINT_T1);
      }
    }
  }
}
// plane r: e2 = sum_s a[s] ct[r-s], e1 = sum_t b[t] e2[.-t], dx = sum_u c[u] e1[..-u]; the
// gradients of the weights are products of these with what the value had, which is computed again
void w12b_gradients(const f32 *a, const f32 *b, const f32 *c, const f32 *x, const f32 *y,
                    const f32 *ct, f32 *da, f32 *db, f32 *dc, f32 *dx) {
  static const f32 none[PLANE] __attribute__((aligned(64)));
#pragma omp parallel num_threads(NT)
  {
    static f32 z1s[NT][ROWS] __attribute__((aligned(64)));
    static f32 z2s[NT][PLANE] __attribute__((aligned(64)));
    static f32 e2s[NT][PLANE + 2 * (S - 1) * N] __attribute__((aligned(64)));
    int id = omp_get_thread_num();
    f32 *z1 = z1s[id], *z2 = z2s[id], *e2 = e2s[id] + (S - 1) * N;
    f32 e1[N + 64] __attribute__((aligned(64)));
    __m512 A[S], B[S], C[S], ga[S], gb[S], gc[S];
    memset(e1, 0, sizeof e1);
    weights(a, A);
    weights(b, B);
    weights(c, C);
    for (int s = 0; s < S; s++)
      ga[s] = gb[s] = gc[s] = Z0;
#pragma omp for
    for (int r = 0; r < W; r++) {
      const f32 *p[S], *in = x + (long)r * W * W;
      plane(in, b, c, z1, z2);
      for (int s = 0; s < S; s++)
        p[s] = r - s < 0 || r - s >= N ? none : ct + (long)(r - s) * PLANE;
      for (int k = 0; k < PLANE; k += 16) {
        __m512 z = _mm512_load_ps(z2 + k), e = Z0;
#pragma GCC unroll 5
        for (int s = 0; s < S; s++) {
          __m512 v = LD(p[s] + k);
          e = FMA(A[s], v, e);
          ga[s] = FMA(z, v, ga[s]);
        }
        _mm512_store_ps(e2 + k, e);
      }
      for (int q = 0; q < W; q++) {
        const f32 *row = in + (long)q * W;
        f32 *o = dx + (long)r * W * W + (long)q * W;
        for (int k = 0; k < N; k += 16) {
          __m512 z = _mm512_load_ps(z1 + q * N + k), e = Z0;
#pragma GCC unroll 5
          for (int t = 0; t < S; t++) {
            __m512 v = _mm512_load_ps(e2 + (q - t) * N + k);
            e = FMA(B[t], v, e);
            gb[t] = FMA(z, v, gb[t]);
          }
#pragma GCC unroll 5
          for (int u = 0; u < S; u++)
            gc[u] = FMA(e, LD(row + k + u), gc[u]);
          _mm512_store_ps(e1 + 16 + k, e);
        }
        for (int k = 0; k < N; k += 16)
          ST(o + k, taps(C, e1 + 16 + k, -1));
        _mm512_mask_storeu_ps(o + N, 15, taps(C, e1 + 16 + N, -1));
      }
    }
    for (int s = 0; s < S; s++) {
      partial[id][0][s] = _mm512_reduce_add_ps(ga[s]);
      partial[id][1][s] = _mm512_reduce_add_ps(gb[s]);
      partial[id][2][s] = _mm512_reduce_add_ps(gc[s]);
    }
  }
  for (int s = 0; s < S; s++) {
    da[s] = db[s] = dc[s] = 0;
    for (int t = 0; t < NT; t++) {
      da[s] += partial[t][0][s];
      db[s] += partial[t][1][s];
      dc[s] += partial[t][2][s];
    }
  }
}
