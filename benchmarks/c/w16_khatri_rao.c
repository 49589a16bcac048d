// W16: m[i,r] = sum_{j,k} x[i,j,k] b[j,r] c[k,r], 128 x 96 x 128, rank 32: first T = x c, which is
// kept.
#include "tiles.h"
enum { I = 128, J = 96, K = 128, R = 32 };
TILE(twelve, 12, 2)
TILE(eight, 8, 2)
TILE(six, 6, 4)
static f32 cT[R * K] __attribute__((aligned(64)));
static f32 DB[NT][J * R], DC[NT][K * R] __attribute__((aligned(64)));
void w16_value(const f32 *x, const f32 *b, const f32 *c, f32 *m, f32 *T) {
#pragma omp parallel for num_threads(NT)
  for (int i = 0; i < I; i++) {
    f32 *t = T + i * J * R;
    __m512 s0 = Z0, s1 = Z0;
    for (int j = 0; j < J; j += 12)
      twelve(x + ((long)i * J + j) * K, K, 1, c, R, K, 0, 0, t + j * R, R);
    for (int j = 0; j < J * R; j += R) {
      s0 = FMA(LD(t + j), LD(b + j), s0);
      s1 = FMA(LD(t + j + 16), LD(b + j + 16), s1);
    }
    ST(m + i * R, s0);
    ST(m + i * R + 16, s1);
  }
}
// D[j,r] = dm[i,r] b[j,r]: dx[i] = D c^T, dc = sum_i x[i]^T D; db = sum_i dm[i] T[i]
void w16_gradients(const f32 *x, const f32 *b, const f32 *c, const f32 *m, const f32 *T,
                   const f32 *dm, f32 *dx, f32 *db, f32 *dc) {
#pragma omp parallel num_threads(NT)
  {
    int id = omp_get_thread_num();
    f32 *gb = DB[id], *gc = DC[id], D[J * R] __attribute__((aligned(64)));
    memset(gb, 0, sizeof DB[0]);
    memset(gc, 0, sizeof DC[0]);
#pragma omp for
    for (int k = 0; k < K; k += 16)
      for (int r = 0; r < R; r += 16) {
        __m512 t[16];
        transposed16(c + k * R + r, R, t);
        UNROLL for (int l = 0; l < 16; l++) ST(cT + (r + l) * K + k, t[l]);
      }
#pragma omp for
    for (int i = 0; i < I; i++) {
      const f32 *xi = x + (long)i * J * K, *t = T + i * J * R;
      f32 *o = dx + (long)i * J * K;
      for (int r = 0; r < R; r += 16) {
        __m512 d = LD(dm + i * R + r);
        for (int j = r; j < J * R; j += R) {
          _mm512_store_ps(D + j, MUL(d, LD(b + j)));
          ST(gb + j, FMA(d, LD(t + j), LD(gb + j)));
        }
      }
      for (int k = 0; k < K; k += 64)
        for (int j = 0; j < J; j += 6)
          six(D + j * R, R, 1, cT + k, K, R, 0, 0, o + j * K + k, K);
      for (int k = 0; k < K; k += 8)
        eight(xi + k, 1, K, D, R, J, gc + k * R, R, gc + k * R, R);
    }
#pragma omp for
    for (int j = 0; j < J * R; j++) {
      db[j] = 0;
      for (int t = 0; t < NT; t++)
        db[j] += DB[t][j];
    }
#pragma omp for
    for (int k = 0; k < K * R; k++) {
      dc[k] = 0;
      for (int t = 0; t < NT; t++)
        dc[k] += DC[t][k];
    }
  }
}
