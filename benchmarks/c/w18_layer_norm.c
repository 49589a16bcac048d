// W18: y[i,j] = (x[i,j] - m[i]) / sqrt(v[i] + 1e-5) g[j] + b[j], m and v of the row, 2048 x 768. A
// row is read from memory once; m and 1 / sqrt are kept.
#include "vectors.h"
enum { N = 2048, J = 768, ROWS = 4 };
static f32 DG[NT][J], DB[NT][J] __attribute__((aligned(64)));
void w18_value(const f32 *x, const f32 *g, const f32 *b, f32 *y, f32 *saved) {
#pragma omp parallel for num_threads(NT)
  for (int i = 0; i < N; i++) {
    const f32 *p = x + (long)i * J;
    __m512 s[4], q[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++)
      s[v] = q[v] = Z0;
    for (int j = 0; j < J; j += 64)
#pragma GCC unroll 4
      for (int v = 0; v < 4; v++)
        s[v] = ADD(s[v], LD(p + j + v * 16));
    f32 m = _mm512_reduce_add_ps(ADD(ADD(s[0], s[1]), ADD(s[2], s[3]))) / J;
    __m512 mv = BC(m);
    for (int j = 0; j < J; j += 64)
#pragma GCC unroll 4
      for (int v = 0; v < 4; v++) {
        __m512 d = SUB(LD(p + j + v * 16), mv);
        q[v] = FMA(d, d, q[v]);
      }
    f32 var = _mm512_reduce_add_ps(ADD(ADD(q[0], q[1]), ADD(q[2], q[3]))) / J;
    f32 scale = 1 / sqrtf(var + 1e-5f);
    __m512 sv = BC(scale);
    for (int j = 0; j < J; j += 16)
      ST(y + (long)i * J + j,
                       FMA(MUL(SUB(LD(p + j), mv), sv), LD(g + j), LD(b + j)));
    saved[2 * i] = m;
    saved[2 * i + 1] = scale;
  }
}
// z = (x - m) scale, e = ct g: dx = scale (e - mean(e) - z mean(e z)), dg = sum_i ct z, db = sum_i
// ct
void w18_gradients(const f32 *x, const f32 *g, const f32 *b, const f32 *y, const f32 *saved,
                   const f32 *ct, f32 *dx, f32 *dg, f32 *db) {
#pragma omp parallel num_threads(NT)
  {
    int id = omp_get_thread_num();
    f32 *gg = DG[id], *gb = DB[id];
    memset(gg, 0, sizeof DG[0]);
    memset(gb, 0, sizeof DB[0]);
#pragma omp for
    for (int i = 0; i < N; i += ROWS) {
      const f32 *p = x + (long)i * J, *e = ct + (long)i * J;
      __m512 m[ROWS], s[ROWS], a[ROWS], c[ROWS];
#pragma GCC unroll 4
      for (int r = 0; r < ROWS; r++) {
        m[r] = BC(saved[2 * (i + r)]);
        s[r] = BC(saved[2 * (i + r) + 1]);
        a[r] = c[r] = Z0;
      }
      for (int j = 0; j < J; j += 16) {
        __m512 gv = LD(g + j), dgv = LD(gg + j), dbv = LD(gb + j);
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; r++) {
          __m512 z = MUL(SUB(LD(p + r * J + j), m[r]), s[r]), d = LD(e + r * J + j);
          __m512 dz = MUL(d, gv);
          a[r] = ADD(a[r], dz);
          c[r] = FMA(dz, z, c[r]);
          dgv = FMA(d, z, dgv);
          dbv = ADD(dbv, d);
        }
        ST(gg + j, dgv);
        ST(gb + j, dbv);
      }
      // dx = scale g ct - (mean(e z) scale^2 (x - m) + mean(e) scale)
#pragma GCC unroll 4
      for (int r = 0; r < ROWS; r++) {
        f32 scale = saved[2 * (i + r) + 1], mean = _mm512_reduce_add_ps(a[r]) / J;
        f32 slope = _mm512_reduce_add_ps(c[r]) / J;
        a[r] = BC(mean * scale);
        c[r] = BC(slope * scale * scale);
      }
      for (int r = 0; r < ROWS; r++)
        for (int j = 0; j < J; j += 16) {
          __m512 t = FMA(SUB(LD(p + r * J + j), m[r]), c[r], a[r]);
          __m512 d = MUL(LD(e + r * J + j), LD(g + j));
          ST(dx + (long)(i + r) * J + j, _mm512_fmsub_ps(s[r], d, t));
        }
    }
#pragma omp for
    for (int j = 0; j < J; j++) {
      dg[j] = db[j] = 0;
      for (int t = 0; t < NT; t++) {
        dg[j] += DG[t][j];
        db[j] += DB[t][j];
      }
    }
  }
}
