#include "vectors.h"
// W8: y[i,j]=sum_k |x[i,k]-z[j,k]|, 1024x1024x64
enum { WI = 1024, WJ = 1024, WK = 64 };
void w8_value(const f32 *x, const f32 *z, f32 *y) {
#pragma omp parallel for num_threads(NT)
  for (int jb = 0; jb < WJ; jb += 64) {
    f32 loc[WK * 64] __attribute__((aligned(64)));
    for (int k = 0; k < WK; k++)
      for (int j = 0; j < 64; j++)
        loc[k * 64 + j] = z[(jb + j) * WK + k];
    for (int i = 0; i < WI; i += 4) {
      __m512 acc[4][4];
#pragma GCC unroll 4
      for (int p = 0; p < 4; p++)
#pragma GCC unroll 4
        for (int q = 0; q < 4; q++)
          acc[p][q] = Z0;
      for (int k = 0; k < WK; k++) {
        __m512 zv[4];
#pragma GCC unroll 4
        for (int q = 0; q < 4; q++) {
          zv[q] = _mm512_load_ps(loc + k * 64 + q * 16);
          KEEP(zv[q]);
        }
#pragma GCC unroll 4
        for (int p = 0; p < 4; p++) {
          __m512 xv = BC(x[(i + p) * WK + k]);
#pragma GCC unroll 4
          for (int q = 0; q < 4; q++)
            acc[p][q] = ADD(acc[p][q], _mm512_abs_ps(SUB(xv, zv[q])));
        }
      }
#pragma GCC unroll 4
      for (int p = 0; p < 4; p++)
#pragma GCC unroll 4
        for (int q = 0; q < 4; q++)
          ST(y + (size_t)(i + p) * WJ + jb + q * 16, acc[p][q]);
    }
  }
}
static f32 DZ[NT][WJ * WK] __attribute__((aligned(64)));
#define SGN(d, c)                                                                                  \
  _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(d, Z0, _CMP_NEQ_UQ),                                      \
                      _mm512_castsi512_ps(_mm512_ternarylogic_epi32(                               \
                          _mm512_castps_si512(d), _mm512_set1_epi32(0x80000000),                   \
                          _mm512_castps_si512(c), 0x6a ^ 0x00)))
// ternary: (d & sign) ^ c : truth table for A=d,B=sign,C=c : (A&B)^C = 0x6A
void w8_gradients(const f32 *x, const f32 *z, const f32 *y, const f32 *ct, f32 *dx, f32 *dz) {
#pragma omp parallel num_threads(NT)
  {
    int id = omp_get_thread_num();
    f32 *g = DZ[id];
    memset(g, 0, sizeof(DZ[0]));
    int i0 = id * WI / NT, i1 = (id + 1) * WI / NT;
    for (int jb = 0; jb < WJ; jb += 64) // 64 z rows + 64 g rows = 32 KB
      for (int i = i0; i < i1; i += 4)
        for (int kb = 0; kb < WK; kb += 32) {
          __m512 X[4][2], A[4][2];
#pragma GCC unroll 4
          for (int p = 0; p < 4; p++)
#pragma GCC unroll 2
            for (int q = 0; q < 2; q++) {
              X[p][q] = LD(x + (i + p) * WK + kb + q * 16);
              A[p][q] = jb ? LD(dx + (i + p) * WK + kb + q * 16) : Z0;
            }
          for (int j = jb; j < jb + 64; j++) {
            __m512 z0 = LD(z + j * WK + kb), z1 = LD(z + j * WK + kb + 16),
                   g0 = LD(g + j * WK + kb), g1 = LD(g + j * WK + kb + 16);
#pragma GCC unroll 4
            for (int p = 0; p < 4; p++) {
              __m512 c = BC(ct[(size_t)(i + p) * WJ + j]);
              __m512 d0 = SUB(X[p][0], z0), d1 = SUB(X[p][1], z1);
              d0 = SGN(d0, c);
              d1 = SGN(d1, c);
              A[p][0] = ADD(A[p][0], d0);
              A[p][1] = ADD(A[p][1], d1);
              g0 = SUB(g0, d0);
              g1 = SUB(g1, d1);
            }
            ST(g + j * WK + kb, g0);
            ST(g + j * WK + kb + 16, g1);
          }
#pragma GCC unroll 4
          for (int p = 0; p < 4; p++)
#pragma GCC unroll 2
            for (int q = 0; q < 2; q++)
              ST(dx + (i + p) * WK + kb + q * 16, A[p][q]);
        }
#pragma omp barrier
#pragma omp for
    for (int j = 0; j < WJ * WK; j += 16) {
      __m512 s = Z0;
      for (int t = 0; t < NT; t++)
        s = ADD(s, LD(DZ[t] + j));
      ST(dz + j, s);
    }
  }
}
