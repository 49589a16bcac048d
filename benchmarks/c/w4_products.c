// W4: y[i,j] = sum_k x[i,k] w[k,j], n = 1024; W4b: y[n,o] = sum_ij x[n,i] w[o,i,j] z[n,j], n = 256,
// o, i, j = 64: T = z w^T by BLAS, the rest fused.
//
// BLAS runs on one thread, and the team here splits the products: two pools of threads that wait
// for each other by spinning made these ten times slower.
#include "vectors.h"
typedef void (*sgemm_t)(int, int, int, int, int, int, float, const float *, int, const float *, int,
                        float, float *, int);
static sgemm_t sg;
void set_sgemm(void *p) { sg = (sgemm_t)p; }
enum { RM = 101, NTR = 111, TR = 112 };
enum { N = 256, O = 64, I = 64, J = 64 };
enum { S = 1024, ROWS = S / NT };
void w4_value(const f32 *x, const f32 *w, f32 *y) {
#pragma omp parallel for num_threads(NT)
  for (int i = 0; i < S; i += ROWS)
    sg(RM, NTR, NTR, ROWS, S, S, 1, x + i * S, S, w, S, 0, y + i * S, S);
}
void w4_gradients(const f32 *x, const f32 *w, const f32 *y, const f32 *ct, f32 *dx, f32 *dw) {
#pragma omp parallel for num_threads(NT)
  for (int i = 0; i < S; i += ROWS) {
    sg(RM, NTR, TR, ROWS, S, S, 1, ct + i * S, S, w, S, 0, dx + i * S, S);
    sg(RM, TR, NTR, ROWS, S, S, 1, x + i, S, ct, S, 0, dw + i * S, S);
  }
}
// T[n][o*I+i]=sum_j w[o,i,j] z[n,j]
void w4b_value(const f32 *x, const f32 *w, const f32 *z, f32 *y, f32 *T) {
#pragma omp parallel for num_threads(NT)
  for (int nb = 0; nb < N; nb += N / NT) {
    f32 *t = T + (size_t)nb * O * I;
    sg(RM, NTR, TR, N / NT, O * I, J, 1, z + nb * J, J, w, J, 0, t, O * I);
    for (int n = nb; n < nb + N / NT; n++)
      for (int o = 0; o < O; o++) {
        __m512 s = Z0;
        for (int i = 0; i < I; i += 16)
          s = FMA(LD(x + n * I + i), LD(T + (size_t)n * O * I + o * I + i), s);
        y[n * O + o] = _mm512_reduce_add_ps(s);
      }
  }
}
static f32 P[N * O * I];
void w4b_gradients(const f32 *x, const f32 *w, const f32 *z, const f32 *y, const f32 *T,
                   const f32 *ct, f32 *dx, f32 *dw, f32 *dz) {
#pragma omp parallel num_threads(NT)
  {
#pragma omp for
    for (int nb = 0; nb < N; nb += N / NT) {
      for (int n = nb; n < nb + N / NT; n++) {
        __m512 a[4] = {Z0, Z0, Z0, Z0}, X[4];
        for (int q = 0; q < 4; q++)
          X[q] = LD(x + n * I + q * 16);
        for (int o = 0; o < O; o++) {
          __m512 c = BC(ct[n * O + o]);
          for (int q = 0; q < 4; q++) {
            size_t k = (size_t)n * O * I + o * I + q * 16;
            a[q] = FMA(c, LD(T + k), a[q]);
            ST(P + k, MUL(c, X[q]));
          }
        }
        for (int q = 0; q < 4; q++)
          ST(dx + n * I + q * 16, a[q]);
      }
      sg(RM, NTR, NTR, N / NT, J, O * I, 1, P + (size_t)nb * O * I, O * I, w, J, 0, dz + nb * J, J);
    }
#pragma omp for
    for (int k = 0; k < O * I; k += O * I / NT)
      sg(RM, TR, NTR, O * I / NT, J, N, 1, P + k, O * I, z, J, 0, dw + (size_t)k * J, J);
  }
}
