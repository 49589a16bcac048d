// W13: y[i] = sum_j q[j] w(r) e, e = x[i] - x[j], r = |e|^2, w(r) = (1-r)^2 / (r + 0.01) for r < 1;
// 2048 points. 16 points i along a vector, all j for each.
#include "vectors.h"
enum { N = 2048 };
static f32 P[4][N], G[3][N]; // x, y, z, q; and ct, one component after the other
#define SOFT 0.01f
// 1 / x: 14 bits by the processor, and one step of Newton
ALW __m512 inverse(__m512 x) {
  __m512 r = _mm512_rcp14_ps(x);
  return FMA(r, FNMA(x, r, BC(1.f)), r);
}
static void by_component(const f32 *x, f32 (*to)[N]) {
  for (int i = 0; i < N; i++)
    for (int d = 0; d < 3; d++)
      to[d][i] = x[i * 3 + d];
}
static void points(f32 *to, int i, __m512 a, __m512 b, __m512 c) {
  f32 v[3][16];
  ST(v[0], a);
  ST(v[1], b);
  ST(v[2], c);
  for (int l = 0; l < 16; l++)
    for (int d = 0; d < 3; d++)
      to[(i + l) * 3 + d] = v[d][l];
}
void w13_value(const f32 *x, const f32 *q, f32 *y) {
  by_component(x, P);
  memcpy(P[3], q, sizeof P[3]);
#pragma omp parallel for num_threads(NT)
  for (int i = 0; i < N; i += 32) {
    __m512 X[2][3], A[2][3];
#pragma GCC unroll 2
    for (int u = 0; u < 2; u++)
#pragma GCC unroll 3
      for (int d = 0; d < 3; d++) {
        X[u][d] = LD(P[d] + i + u * 16);
        A[u][d] = Z0;
      }
    for (int j = 0; j < N; j++) {
#pragma GCC unroll 2
      for (int u = 0; u < 2; u++) {
        __m512 a = SUB(X[u][0], BC(P[0][j])), b = SUB(X[u][1], BC(P[1][j])),
               c = SUB(X[u][2], BC(P[2][j]));
        __m512 r = FMA(a, a, FMA(b, b, MUL(c, c)));
        __m512 near = _mm512_max_ps(SUB(BC(1.f), r), Z0);
        __m512 w = MUL(MUL(near, near), MUL(inverse(ADD(r, BC(SOFT))), BC(P[3][j])));
        A[u][0] = FMA(w, a, A[u][0]);
        A[u][1] = FMA(w, b, A[u][1]);
        A[u][2] = FMA(w, c, A[u][2]);
      }
    }
    points(y, i, A[0][0], A[0][1], A[0][2]);
    points(y, i + 16, A[1][0], A[1][1], A[1][2]);
  }
}
// With g = ct and h = q[j] g[i] - q[i] g[j], the pairs (i,j) and (j,i) joined:
// dx[i] = sum_j w h + 2 w' (h.e) e, dq[i] = -sum_j w (g[j].e)
void w13_gradients(const f32 *x, const f32 *q, const f32 *y, const f32 *ct, f32 *dx, f32 *dq) {
  by_component(ct, G);
#pragma omp parallel for num_threads(NT)
  for (int i = 0; i < N; i += 16) {
    __m512 X0 = LD(P[0] + i), X1 = LD(P[1] + i), X2 = LD(P[2] + i), Q = LD(P[3] + i);
    __m512 G0 = LD(G[0] + i), G1 = LD(G[1] + i), G2 = LD(G[2] + i);
    __m512 sum = Z0, q0 = Z0, g0 = Z0, g1 = Z0, g2 = Z0, p0 = Z0, p1 = Z0, p2 = Z0;
    for (int j = 0; j < N; j++) {
      __m512 a = SUB(X0, BC(P[0][j])), b = SUB(X1, BC(P[1][j])), c = SUB(X2, BC(P[2][j]));
      __m512 r = FMA(a, a, FMA(b, b, MUL(c, c)));
      __m512 near = _mm512_max_ps(SUB(BC(1.f), r), Z0), d = inverse(ADD(r, BC(SOFT)));
      __m512 nd = MUL(near, d), w = MUL(near, nd);
      __m512 mine = FMA(G0, a, FMA(G1, b, MUL(G2, c)));
      __m512 h0 = BC(G[0][j]), h1 = BC(G[1][j]), h2 = BC(G[2][j]), Qj = BC(P[3][j]);
      __m512 other = FMA(h0, a, FMA(h1, b, MUL(h2, c)));
      __m512 he = FNMA(Q, other, MUL(Qj, mine));
      __m512 pull = MUL(MUL(MUL(nd, d), ADD(r, BC(1 + 2 * SOFT))), he);
      sum = FNMA(w, other, sum);
      q0 = FMA(w, Qj, q0);
      g0 = FMA(w, h0, g0);
      g1 = FMA(w, h1, g1);
      g2 = FMA(w, h2, g2);
      p0 = FMA(pull, a, p0);
      p1 = FMA(pull, b, p1);
      p2 = FMA(pull, c, p2);
    }
    ST(dq + i, sum);
#define DX(g, s, p) FNMA(BC(2.f), p, FNMA(Q, s, MUL(g, q0)))
    points(dx, i, DX(G0, g0, p0), DX(G1, g1, p1), DX(G2, g2, p2));
  }
}
