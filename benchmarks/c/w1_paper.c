// W1: f[i,j]=exp(-sum_k((a[i,k]+b[j,k])^2*c[i,i]+d[i+k]^3)), I=J=512,K=64
#include "vectors.h"
enum { I = 512, J = 512, K = 64 };
static f32 bT[K * J] __attribute__((aligned(64)));
static f32 E[I * J] __attribute__((aligned(64))); // c_ii * E
static f32 R[I], Ds[I];
// same arithmetic as written (add, fma per (i,j,k)); c[i,i] and sum_k d^3 hoisted; saves
// Q=sum_k(a+b)^2
void w1_value(const f32 *a, const f32 *b, const f32 *c, const f32 *d, f32 *f, f32 *Q) {
#pragma omp parallel num_threads(NT)
  {
#pragma omp for nowait
    for (int j = 0; j < J; j += 16)
      for (int k = 0; k < K; k++)
        for (int q = 0; q < 16; q++)
          bT[k * J + j + q] = b[(j + q) * K + k];
#pragma omp for
    for (int i = 0; i < I; i++) {
      f32 D = 0;
      for (int k = 0; k < K; k++) {
        f32 v = d[i + k];
        D += v * v * v;
      }
      Ds[i] = D;
    }
#pragma omp for
    for (int jb = 0; jb < J / 64; jb++) {
      f32 loc[K * 64] __attribute__((aligned(64)));
      for (int k = 0; k < K; k++)
        memcpy(loc + k * 64, bT + k * J + jb * 64, 256);
      for (int i = 0; i < I; i += 4) {
        __m512 acc[4][4];
#pragma GCC unroll 4
        for (int p = 0; p < 4; p++)
#pragma GCC unroll 4
          for (int q = 0; q < 4; q++)
            acc[p][q] = Z0;
        for (int k = 0; k < K; k++) {
          __m512 bv[4];
#pragma GCC unroll 4
          for (int q = 0; q < 4; q++) {
            bv[q] = _mm512_load_ps(loc + k * 64 + q * 16);
            KEEP(bv[q]);
          }
#pragma GCC unroll 4
          for (int p = 0; p < 4; p++) {
            __m512 av = BC(a[(i + p) * K + k]);
#pragma GCC unroll 4
            for (int q = 0; q < 4; q++) {
              __m512 s = ADD(av, bv[q]);
              acc[p][q] = FMA(s, s, acc[p][q]);
            }
          }
        }
#pragma GCC unroll 4
        for (int p = 0; p < 4; p++) {
          f32 D = Ds[i + p];
          __m512 cv = BC(-c[(i + p) * (I + 1)]), dv = BC(-D);
#pragma GCC unroll 4
          for (int q = 0; q < 4; q++) {
            f32 *o = f + (i + p) * J + jb * 64 + q * 16;
            ST(Q + (o - f), acc[p][q]);
            ST(o, vexp(FMA(cv, acc[p][q], dv)));
          }
        }
      }
    }
  }
}
void w1_gradients(const f32 *a, const f32 *b, const f32 *c, const f32 *d, const f32 *f,
                  const f32 *Q, const f32 *ct, f32 *da, f32 *db, f32 *dc, f32 *dd) {
#pragma omp parallel num_threads(NT)
  {
#pragma omp for
    for (int i = 0; i < I; i += 4) {
      f32 Rl[4];
      memset(dc + (size_t)i * I, 0, 4 * I * sizeof(f32));
      for (int p = 0; p < 4; p++) {
        __m512 r = Z0, q = Z0;
        f32 cc = c[(i + p) * (I + 1)];
        __m512 cv = BC(-1.f);
        for (int j = 0; j < J; j += 16) {
          int o = (i + p) * J + j;
          __m512 e = MUL(MUL(LD(ct + o), LD(f + o)), cv);
          r = ADD(r, e);
          q = FMA(e, LD(Q + o), q);
          _mm512_store_ps(E + o, MUL(e, BC(cc)));
        }
        f32 rs = _mm512_reduce_add_ps(r);
        R[i + p] = rs;
        Rl[p] = rs * cc;
        dc[(size_t)(i + p) * (I + 1)] = _mm512_reduce_add_ps(q);
      }
      __m512 acc[4][4];
#pragma GCC unroll 4
      for (int p = 0; p < 4; p++)
#pragma GCC unroll 4
        for (int q = 0; q < 4; q++)
          acc[p][q] = Z0;
      for (int j = 0; j < J; j++) {
        __m512 bv[4];
#pragma GCC unroll 4
        for (int q = 0; q < 4; q++) {
          bv[q] = LD(b + j * K + q * 16);
          KEEP(bv[q]);
        }
#pragma GCC unroll 4
        for (int p = 0; p < 4; p++) {
          __m512 ev = BC(E[(i + p) * J + j]);
#pragma GCC unroll 4
          for (int q = 0; q < 4; q++)
            acc[p][q] = FMA(ev, bv[q], acc[p][q]);
        }
      }
#pragma GCC unroll 4
      for (int p = 0; p < 4; p++)
#pragma GCC unroll 4
        for (int q = 0; q < 4; q++)
          ST(da + (i + p) * K + q * 16,
             MUL(BC(2.f), FMA(BC(Rl[p]), LD(a + (i + p) * K + q * 16), acc[p][q])));
    }
#pragma omp for
    for (int j = 0; j < J; j += 4) {
      __m512 acc[4][4];
      f32 s[4] = {0, 0, 0, 0};
#pragma GCC unroll 4
      for (int p = 0; p < 4; p++)
#pragma GCC unroll 4
        for (int q = 0; q < 4; q++)
          acc[p][q] = Z0;
      __m128 sv = _mm_setzero_ps();
      for (int i = 0; i < I; i++) {
        __m512 bv[4];
        sv = _mm_add_ps(sv, _mm_load_ps(E + i * J + j));
#pragma GCC unroll 4
        for (int q = 0; q < 4; q++) {
          bv[q] = LD(a + i * K + q * 16);
          KEEP(bv[q]);
        }
#pragma GCC unroll 4
        for (int p = 0; p < 4; p++) {
          __m512 ev = BC(E[i * J + j + p]);
#pragma GCC unroll 4
          for (int q = 0; q < 4; q++)
            acc[p][q] = FMA(ev, bv[q], acc[p][q]);
        }
      }
      _mm_storeu_ps(s, sv);
#pragma GCC unroll 4
      for (int p = 0; p < 4; p++)
#pragma GCC unroll 4
        for (int q = 0; q < 4; q++)
          ST(db + (j + p) * K + q * 16,
             MUL(BC(2.f), FMA(BC(s[p]), LD(b + (j + p) * K + q * 16), acc[p][q])));
    }
#pragma omp for
    for (int l = 0; l < I + K - 1; l++) {
      int lo = l - K + 1 < 0 ? 0 : l - K + 1, hi = l < I - 1 ? l : I - 1;
      f32 s = 0;
      for (int i = lo; i <= hi; i++)
        s += R[i];
      dd[l] = 3 * d[l] * d[l] * s;
    }
  }
}
