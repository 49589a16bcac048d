// W15: s[h,i,j] = sum_c q[h,i,c] (k[h,j,c] + r[h,i-j+N-1,c]), 4 heads, N = 384, 64 channels: as q
// k^T plus q times the mirrored r, whose rows are read one element earlier than the row before.
#include "tiles.h"
enum { H = 4, N = 384, C = 64, P = 2 * N - 1, R = 6, LDK = N + 16, LDR = P + 33, LDT = N + 16 };
static f32 kT[C * LDK] __attribute__((aligned(64)));
static f32 rT[C * LDR] __attribute__((aligned(64))); // rT[c][m] = r[P-1-m][c]
static f32 dsP[N * LDK + 16] __attribute__((aligned(64)));
TILE(tile64, R, 4)
TILE(tile16, R, 1)
// to[c*ld + m] = rows[m*step + c], 16 rows m
ALW void turned(const f32 *rows, long step, f32 *to, long ld) {
  for (int c = 0; c < C; c += 16) {
    __m512 t[16];
    transposed16(rows + c, step, t);
    UNROLL for (int k = 0; k < 16; k++) ST(to + (c + k) * ld, t[k]);
  }
}
void w15_value(const f32 *q, const f32 *k, const f32 *r, f32 *s) {
#pragma omp parallel num_threads(NT)
  for (int h = 0; h < H; h++) {
    const f32 *qh = q + h * N * C, *kh = k + h * N * C, *rh = r + h * P * C;
#pragma omp for
    for (int j = 0; j < N; j += 16)
      turned(kh + j * C, C, kT + j, LDK);
#pragma omp for
    for (int m = 0; m < P + 1; m += 16) { // the last 16 overlap: P is odd
      int at = m + 16 <= P ? m : P - 16;
      turned(rh + (P - 1 - at) * C, -C, rT + at, LDR);
    }
#pragma omp for
    for (int i = 0; i < N; i += R) {
      f32 T[R * LDT] __attribute__((aligned(64)));
      const f32 *a = qh + i * C, *b = rT + N - R - i;
      for (int m = 0; m < N; m += 64)
        tile64(a, C, 1, b + m, LDR, C, 0, 0, T + m, LDT);
      tile16(a, C, 1, b + N, LDR, C, 0, 0, T + N, LDT);
      for (int j = 0; j < N; j += 64)
        tile64(a, C, 1, kT + j, LDK, C, T + R - 1 + j, LDT - 1, s + ((long)h * N + i) * N + j, N);
    }
  }
}
// With D[i,m] = ds[i, m-(N-1)+i], 0 outside, and r mirrored: dq = ds k + D r, dk = ds^T q, dr = D^T
// q
void w15_gradients(const f32 *q, const f32 *k, const f32 *r, const f32 *s, const f32 *ct, f32 *dq,
                   f32 *dk, f32 *dr) {
#pragma omp parallel num_threads(NT)
  for (int h = 0; h < H; h++) {
    const f32 *qh = q + h * N * C, *kh = k + h * N * C, *rh = r + h * P * C;
    const f32 *ds = ct + (long)h * N * N;
    f32 *drh = dr + h * P * C;
#pragma omp for
    for (int i = 0; i < N; i++) // eight zeros on both sides stay
      memcpy(dsP + i * LDK + 8, ds + i * N, N * 4);
#pragma omp for nowait
    for (int i = 0; i < N; i += R) {
      f32 *o = dq + (h * N + i) * C;
      tile64(ds + i * N, N, 1, kh, C, N, 0, 0, o, C);
      const f32 *first = rh + (P - 1 - (N - R - i)) * C;
      tile64(dsP + i * LDK + 8 - (R - 1), LDK + 1, 1, first, -C, N + R - 1, o, C, o, C);
    }
#pragma omp for nowait
    for (int j = 0; j < N; j += R)
      tile64(ds + j, 1, N, qh, C, N, 0, 0, dk + (h * N + j) * C, C);
#pragma omp for
    for (int m = -1; m < P; m += R) { // rows m..m+5 of the mirrored dr, of which -1 is none
      int from = N - m - R, to = 2 * N - 1 - m;
      from = from < 0 ? 0 : from;
      to = to > N ? N : to;
      const f32 *d = dsP + from * LDK + 8 + from + m - (N - 1);
      f32 rows[R * C];
      tile64(d, 1, LDK + 1, qh + from * C, C, to - from, 0, 0, rows, C);
      for (int l = m < 0; l < R; l++)
        memcpy(drh + (P - 1 - m - l) * C, rows + l * C, C * 4);
    }
  }
}
