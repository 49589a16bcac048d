// W2: y[i]=sum_j exp(-|x_i-z_j|^2) b_j ; N=M=4096, 3-D points
#include "vectors.h"
enum { N = 4096, M = 4096 };
void w2_value(const f32 *x, const f32 *z, const f32 *b, f32 *y) {
#pragma omp parallel for num_threads(NT)
  for (int i = 0; i < N; i += 64) {
    f32 t[3][64] __attribute__((aligned(64)));
    for (int l = 0; l < 64; l++)
      for (int k = 0; k < 3; k++)
        t[k][l] = x[(i + l) * 3 + k];
    __m512 X[4][3], acc[4];
#pragma GCC unroll 4
    for (int u = 0; u < 4; u++) {
      acc[u] = Z0;
#pragma GCC unroll 3
      for (int k = 0; k < 3; k++)
        X[u][k] = _mm512_load_ps(t[k] + u * 16);
    }
    for (int j = 0; j < M; j++) {
      __m512 z0 = BC(z[j * 3]), z1 = BC(z[j * 3 + 1]), z2 = BC(z[j * 3 + 2]), bb = BC(b[j]);
#pragma GCC unroll 4
      for (int u = 0; u < 4; u++) {
        __m512 d0 = SUB(X[u][0], z0), d1 = SUB(X[u][1], z1), d2 = SUB(X[u][2], z2);
        __m512 q = _mm512_fnmsub_ps(d0, d0, MUL(d1, d1));
        q = FNMA(d2, d2, q);
        acc[u] = FMA(vexp(q), bb, acc[u]);
      }
    }
#pragma GCC unroll 4
    for (int u = 0; u < 4; u++)
      ST(y + i + u * 16, acc[u]);
  }
}
// one fused pass: exp once per (i,j); dx in registers, (dz,db) lane partials in L1, per-thread
// copies reduced at the end
static f32 G[NT][M][4];
void w2_gradients(const f32 *x, const f32 *z, const f32 *b, const f32 *y, const f32 *ct, f32 *dx,
                  f32 *dz, f32 *db) {
  enum { JB = 64 };
#pragma omp parallel num_threads(NT)
  {
    int id = omp_get_thread_num();
    int i0 = id * (N / NT), i1 = i0 + N / NT;
    __m512 P[JB][4];
    f32(*S)[3][32] = aligned_alloc(64, (N / NT / 32) * sizeof(*S)); // dx accumulators, SoA
    f32(*T)[4][32] = aligned_alloc(64, (N / NT / 32) * sizeof(*T)); // x, ct SoA
    for (int i = i0; i < i1; i += 32) {
      int g = (i - i0) / 32;
      for (int l = 0; l < 32; l++) {
        for (int k = 0; k < 3; k++)
          T[g][k][l] = x[(i + l) * 3 + k];
        T[g][3][l] = ct[i + l];
      }
      memset(S[g], 0, sizeof(S[g]));
    }
    for (int j0 = 0; j0 < M; j0 += JB) {
      for (int j = 0; j < JB; j++)
        for (int k = 0; k < 4; k++)
          P[j][k] = Z0;
      for (int i = i0; i < i1; i += 32) {
        int g = (i - i0) / 32;
        __m512 X[2][4], A[2][3];
#pragma GCC unroll 2
        for (int u = 0; u < 2; u++) {
#pragma GCC unroll 4
          for (int k = 0; k < 4; k++)
            X[u][k] = _mm512_load_ps(T[g][k] + u * 16);
#pragma GCC unroll 3
          for (int k = 0; k < 3; k++)
            A[u][k] = _mm512_load_ps(S[g][k] + u * 16);
        }
        for (int j = 0; j < JB; j++) {
          const f32 *zz = z + (j0 + j) * 3;
          __m512 z0 = BC(zz[0]), z1 = BC(zz[1]), z2 = BC(zz[2]), bb = BC(b[j0 + j]);
          __m512 p0 = P[j][0], p1 = P[j][1], p2 = P[j][2], p3 = P[j][3];
#pragma GCC unroll 2
          for (int u = 0; u < 2; u++) {
            __m512 d0 = SUB(X[u][0], z0), d1 = SUB(X[u][1], z1), d2 = SUB(X[u][2], z2);
            __m512 q = _mm512_fnmsub_ps(d0, d0, MUL(d1, d1));
            q = FNMA(d2, d2, q);
            __m512 e = MUL(vexp(q), X[u][3]);
            p3 = ADD(p3, e);
            d0 = MUL(d0, e);
            d1 = MUL(d1, e);
            d2 = MUL(d2, e);
            p0 = ADD(p0, d0);
            p1 = ADD(p1, d1);
            p2 = ADD(p2, d2);
            A[u][0] = FMA(bb, d0, A[u][0]);
            A[u][1] = FMA(bb, d1, A[u][1]);
            A[u][2] = FMA(bb, d2, A[u][2]);
          }
          P[j][0] = p0;
          P[j][1] = p1;
          P[j][2] = p2;
          P[j][3] = p3;
        }
#pragma GCC unroll 2
        for (int u = 0; u < 2; u++)
#pragma GCC unroll 3
          for (int k = 0; k < 3; k++)
            _mm512_store_ps(S[g][k] + u * 16, A[u][k]);
      }
      for (int j = 0; j < JB; j++)
        for (int k = 0; k < 4; k++)
          G[id][j0 + j][k] = _mm512_reduce_add_ps(P[j][k]);
    }
    for (int i = i0; i < i1; i += 32) {
      int g = (i - i0) / 32;
      for (int l = 0; l < 32; l++)
        for (int k = 0; k < 3; k++)
          dx[(i + l) * 3 + k] = -2 * S[g][k][l];
    }
    free(S);
    free(T);
#pragma omp barrier
#pragma omp for
    for (int j = 0; j < M; j++) {
      f32 s[4] = {0, 0, 0, 0};
      for (int t = 0; t < NT; t++)
        for (int k = 0; k < 4; k++)
          s[k] += G[t][j][k];
      for (int k = 0; k < 3; k++)
        dz[j * 3 + k] = 2 * b[j] * s[k];
      db[j] = s[3];
    }
  }
}
