#include "vectors.h"
// W5: the five-point stencil on n * n points; results pass by the caches.
enum { n = 4096 };
void w5_value(const f32 *x, f32 *y) {
  int m = n - 2;
#pragma omp parallel for num_threads(NT)
  for (int i = 0; i < m; i++) {
    const f32 *c = x + (size_t)(i + 1) * n + 1, *u = c - n, *d = c + n;
    f32 *o = y + (size_t)i * m;
    int j = 0;
    while (((size_t)(o + j) & 63) && j < m) {
      o[j] = u[j] + d[j] + c[j - 1] + c[j + 1] - 4 * c[j];
      j++;
    }
    for (; j + 16 <= m; j += 16)
      _mm512_stream_ps(o + j,
                       FNMA(BC(4.f), LD(c + j),
                            ADD(ADD(LD(u + j), LD(d + j)), ADD(LD(c + j - 1), LD(c + j + 1)))));
    for (; j < m; j++)
      o[j] = u[j] + d[j] + c[j - 1] + c[j + 1] - 4 * c[j];
  }
}
// dx[i,j] gather from ct with zero outside
void w5_gradients(const f32 *x, const f32 *y, const f32 *ct, f32 *dx) {
  int m = n - 2;
#define CTG(i, j) (((i) >= 0 && (i) < m && (j) >= 0 && (j) < m) ? ct[(size_t)(i) * m + (j)] : 0.f)
#define PT(i, j)                                                                                   \
  dx[(size_t)((i) + 1) * n + (j) + 1] =                                                            \
      CTG((i) - 1, j) + CTG((i) + 1, j) + CTG(i, (j) - 1) + CTG(i, (j) + 1) - 4 * CTG(i, j)
#pragma omp parallel for num_threads(NT)
  for (int i = -1; i <= m; i++) {
    if (i < 1 || i >= m - 1) {
      for (int j = -1; j <= m; j++)
        PT(i, j);
      continue;
    }
    const f32 *c = ct + (size_t)i * m, *u = c - m, *d = c + m;
    f32 *o = dx + (size_t)(i + 1) * n + 1;
    int j;
    for (j = -1; j < 15; j++)
      PT(i, j); // o+15 is 64B aligned when n%16==0
    for (; j + 16 < m; j += 16)
      _mm512_stream_ps(o + j,
                       FNMA(BC(4.f), LD(c + j),
                            ADD(ADD(LD(u + j), LD(d + j)), ADD(LD(c + j - 1), LD(c + j + 1)))));
    for (; j <= m; j++)
      PT(i, j);
  }
}
// the vector that begins one element before b, where a lies before b
#define BEFORE(a, b)                                                                               \
  _mm512_castsi512_ps(                                                                             \
      _mm512_alignr_epi32(_mm512_castps_si512(b), _mm512_castps_si512(a), 15))
// W5b: y = sum of phi(neighbour - x), phi(d) = d exp(-d^2). Two neighbours share phi but for its
// sign: two exponentials a point.
ALW __m512 phi(__m512 d) { return MUL(d, vexp(_mm512_fnmadd_ps(d, d, Z0))); }
void w5b_value(const f32 *x, f32 *y) {
  int m = n - 2;
#pragma omp parallel num_threads(NT)
  {
    int id = omp_get_thread_num();
    int a = m * id / NT, b = m * (id + 1) / NT;
    f32 *V = aligned_alloc(64, 4 * (n + 64));
    // V[j]=phi(x[i+1]-x[i]) for the edge above row i
    for (int j = 0; j < n; j += 16) {
      const f32 *p = x + (size_t)a * n + j;
      ST(V + j, phi(SUB(LD(p + n), LD(p))));
    }
    for (int i = a + 1; i <= b; i++) {
      const f32 *p = x + (size_t)i * n;
      f32 *o = y + (size_t)(i - 1) * m;
      // horizontal edges: h[j]=phi(x[j+1]-x[j])
      f32 d0 = p[1] - p[0];
      __m512 before = BC(d0 * expf(-d0 * d0));
      for (int j = 1; j <= m; j += 16) {
        int jj = j + 16 <= m + 1 ? j : m - 15;
        const f32 *q = p + jj;
        __m512 h = phi(SUB(LD(q + 1), LD(q)));
        __m512 v = phi(SUB(LD(q + n), LD(q)));
        __m512 vo, hprev;
        if (jj == j) {
          vo = LD(V + jj);
          hprev = BEFORE(before, h);
        } else { /* overlapped tail: old V partially overwritten -> recompute */
          vo = phi(SUB(LD(q), LD(q - n)));
          hprev = phi(SUB(LD(q), LD(q - 1)));
        }
        before = h;
        ST(V + jj, v);
        ST(o + jj - 1, ADD(SUB(h, hprev), SUB(v, vo)));
      }
    }
    free(V);
  }
}
// ctp: zero-bordered ct (n*n).  dL/dd_e = phi'(d)(ct_p-ct_q); dx_q += , dx_p -=
ALW __m512 dphi(__m512 d) {
  __m512 s = MUL(d, d);
  return MUL(vexp(SUB(Z0, s)), FNMA(BC(2.f), s, BC(1.f)));
}
void w5b_gradients(const f32 *x, const f32 *y, const f32 *ct, f32 *dx) {
  int m = n - 2;
#pragma omp parallel num_threads(NT)
  {
    int id = omp_get_thread_num();
    int a = n * id / NT, b = n * (id + 1) / NT;
    size_t B = 4 * (n + 128);
    f32 *V = (f32 *)aligned_alloc(64, B) + 16, *c0 = (f32 *)aligned_alloc(64, B) + 16,
        *c1 = (f32 *)aligned_alloc(64, B) + 16;
#define ROW(dst, i)                                                                                \
  do {                                                                                             \
    int r_ = (i) - 1;                                                                              \
    memset((dst) - 16, 0, B);                                                                      \
    if (r_ >= 0 && r_ < m)                                                                         \
      memcpy((dst) + 1, ct + (size_t)r_ * m, 4 * m);                                               \
  } while (0)
    ROW(c0, a);
    if (a == 0) {
      memset(V - 16, 0, B);
    } else {
      f32 *cm = c1;
      ROW(cm, a - 1);
      for (int j = 0; j < n; j += 16) {
        const f32 *p = x + (size_t)(a - 1) * n + j;
        ST(V + j, MUL(dphi(SUB(LD(p + n), LD(p))), SUB(LD(cm + j), LD(c0 + j))));
      }
    }
    for (int i = a; i < b; i++) {
      const f32 *p = x + (size_t)i * n;
      f32 *o = dx + (size_t)i * n;
      int last = i == n - 1;
      ROW(c1, i + 1);
      __m512 before = Z0;
      for (int j = 0; j < n; j += 16) {
        const f32 *q = p + j;
        __m512 xv = LD(q),
               xr = (j + 16 < n || !last) ? LD(q + 1) : _mm512_maskz_loadu_ps(0x7fff, q + 1),
               c = LD(c0 + j), cr = LD(c0 + j + 1);
        __m512 h = MUL(dphi(SUB(xr, xv)), SUB(c, cr));
        if (j + 16 == n)
          h = _mm512_maskz_mov_ps(0x7fff, h);
        __m512 hp = BEFORE(before, h);
        before = h;
        __m512 v = last ? Z0 : MUL(dphi(SUB(LD(q + n), xv)), SUB(c, LD(c1 + j)));
        __m512 vo = LD(V + j);
        ST(V + j, v);
        ST(o + j, ADD(SUB(hp, h), SUB(vo, v)));
      }
      f32 *t = c0;
      c0 = c1;
      c1 = t;
    }
    free(V - 16);
    free(c0 - 16);
    free(c1 - 16);
  }
}
