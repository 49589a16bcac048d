// W19: y[n,o,2i+s,2j+t] = sum x[n,c,i,j] w[c,o,s,t], 4 x 4 taps, 4 x 32 x 28 x 28, 32 channels:
// each of the four parities of a result is a convolution with 2 x 2 of the taps.
// W19b: y[o,d,h,v] = sum w[o,c,s,t,u] x[c,d+s,h+t,v+u], 3 x 3 x 3 taps, 24^3, 16 channels.
#include "flat_shifts.h"
enum { N = 4, C = 32, O = 32, H = 28, Q = H + 1, Y = 2 * Q, TAPS = 16, XP = H * H, YP = Y * Y };
enum { L = Q * Q, LP = 864, FIRST = Q + 1, XL = FIRST + L + 64, PL = L + 64 };
// x with rows of 29, of which the last is zero, behind a row and an element of zeros
static f32 X1[N][C][XL] __attribute__((aligned(64)));
// the adjoint by parity of row and column
static f32 E1[N][O][4][PL] __attribute__((aligned(64)));
static f32 Wv[4][O / 8][C * 4 * 8], Wg[C / 8][O * TAPS * 8];
static void zip(const f32 *a, const f32 *b, f32 *y) { // 29 of each; the second 16 overlap
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
  for (int b0 = 0; b0 <= Q - 16; b0 += Q - 16) {
    __m512 u = LD(a + b0), v = LD(b + b0);
    ST(y + 2 * b0, _mm512_permutex2var_ps(u, low, v));
    ST(y + 2 * b0 + 16, _mm512_permutex2var_ps(u, high, v));
  }
}
static void unzip(const f32 *y, f32 *a, f32 *b) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
  for (int b0 = 0; b0 <= Q - 16; b0 += Q - 16) {
    __m512 u = LD(y + 2 * b0), v = LD(y + 2 * b0 + 16);
    ST(a + b0, _mm512_permutex2var_ps(u, even, v));
    ST(b + b0, _mm512_permutex2var_ps(u, odd, v));
  }
}
void w19_value(const f32 *w, const f32 *x, f32 *y) {
  static const int off[4] = {FIRST, FIRST - 1, FIRST - Q, FIRST - Q - 1};
#pragma omp parallel num_threads(NT)
  {
#pragma omp for nowait
    for (int c = 0; c < C; c++)
      for (int o = 0; o < O; o++)
        for (int k = 0; k < TAPS; k++) { // tap (2s'+a, 2t'+b) of parity (a, b)
          int s = k / 4, t = k % 4, parity = s % 2 * 2 + t % 2, tap = s / 2 * 2 + t / 2;
          Wv[parity][o / 8][(c * 4 + tap) * 8 + o % 8] = w[(c * O + o) * TAPS + k];
        }
#pragma omp for
    for (int nc = 0; nc < N * C; nc++)
      for (int i = 0; i < H; i++)
        memcpy(X1[0][nc] + FIRST + i * Q, x + (long)nc * XP + i * H, H * 4);
#pragma omp for collapse(2)
    for (int n = 0; n < N; n++)
      for (int a = 0; a < 2; a++)
        for (int ob = 0; ob < O / 8; ob++) {
          f32 Z[2][8 * LP] __attribute__((aligned(64)));
          for (int b = 0; b < 2; b++)
            convflat(X1[n][0], XL, off, 4, C, Wv[a * 2 + b][ob], 8, Z[b], LP, L);
          for (int o = 0; o < 8; o++)
            for (int i = 0; i < Q; i++)
              zip(Z[0] + o * LP + i * Q, Z[1] + o * LP + i * Q,
                  y + ((long)n * O + ob * 8 + o) * YP + (2 * i + a) * Y);
        }
  }
}
// dx is a convolution with stride 2: of the parities of the adjoint by all taps
void w19_gradients(const f32 *w, const f32 *x, const f32 *y, const f32 *ct, f32 *dw, f32 *dx) {
  int off[TAPS];
  for (int k = 0; k < TAPS; k++) {
    int s = k / 4, t = k % 4;
    off[k] = (s % 2 * 2 + t % 2) * PL + s / 2 * Q + t / 2;
  }
#pragma omp parallel num_threads(NT)
  {
#pragma omp for nowait
    for (int cb = 0; cb < C / 8; cb++)
      for (int c = 0; c < 8; c++)
        for (int q = 0; q < O * TAPS; q++)
          Wg[cb][q * 8 + c] = w[(cb * 8 + c) * O * TAPS + q];
#pragma omp for
    for (int no = 0; no < N * O; no++)
      for (int p = 0; p < Y; p++) {
        f32 *to = E1[0][no][p % 2 * 2] + p / 2 * Q;
        unzip(ct + (long)no * YP + p * Y, to, to + PL);
      }
#pragma omp for collapse(2) nowait
    for (int n = 0; n < N; n++)
      for (int cb = 0; cb < C / 8; cb++) {
        f32 Z[8 * LP] __attribute__((aligned(64)));
        convflat(E1[n][0][0], 4 * PL, off, TAPS, O, Wg[cb], 8, Z, LP, H * Q - 1);
        for (int c = 0; c < 8; c++)
          for (int i = 0; i < H; i++)
            memcpy(dx + ((long)n * C + cb * 8 + c) * XP + i * H, Z + c * LP + i * Q, H * 4);
      }
#pragma omp for
    for (int q = 0; q < O * TAPS; q += 64)
      wgrad(X1[0][0] + FIRST, XL, C * XL, E1[0][0][0], 4 * PL, O * 4 * PL, off, TAPS, O, C, N, 816,
            dw, q, q + 64);
  }
}
enum { VC = 16, E = 24, V = E + 2, V2 = V * V, V3 = V * V2, YL3 = E * E * E, VS = 27 };
enum { LV = (E - 1) * V2 + (E - 1) * V + E, BEFORE = 2 * V2 + 2 * V + 2, VLP = V3 + 64 };
// the adjoint with rows and planes of 26, which end in zeros, behind BEFORE zeros
static f32 EV[VC][BEFORE + VLP] __attribute__((aligned(64)));
static f32 Wa[2][VC * VS * 8], Wb[2][VC * VS * 8];
void w19b_value(const f32 *w, const f32 *x, f32 *y) {
  int off[VS];
  for (int k = 0; k < VS; k++)
    off[k] = k / 9 * V2 + k / 3 % 3 * V + k % 3;
#pragma omp parallel num_threads(NT)
  {
#pragma omp for
    for (int o = 0; o < VC; o++)
      for (int q = 0; q < VC * VS; q++)
        Wa[o / 8][q * 8 + o % 8] = w[o * VC * VS + q];
#pragma omp for
    for (int d = 0; d < E; d++) {
      enum { LP = 624 };
      f32 Z[VC * LP] __attribute__((aligned(64)));
      convflat(x + d * V2, V3, off, VS, VC, Wa[0], VC, Z, LP, E * V - 2);
      for (int o = 0; o < VC; o++)
        for (int h = 0; h < E; h++)
          memcpy(y + (long)o * YL3 + (d * E + h) * E, Z + o * LP + h * V, E * 4);
    }
  }
}
void w19b_gradients(const f32 *w, const f32 *x, const f32 *y, const f32 *ct, f32 *dw, f32 *dx) {
  int off[VS], back[VS];
  for (int k = 0; k < VS; k++) {
    off[k] = k / 9 * V2 + k / 3 % 3 * V + k % 3;
    back[k] = BEFORE - off[k];
  }
#pragma omp parallel num_threads(NT)
  {
#pragma omp for nowait
    for (int o = 0; o < VC; o++)
      for (int c = 0; c < VC; c++)
        for (int s = 0; s < VS; s++)
          Wb[c / 8][(o * VS + s) * 8 + c % 8] = w[(o * VC + c) * VS + s];
#pragma omp for
    for (int o = 0; o < VC; o++)
      for (int d = 0; d < E; d++)
        for (int h = 0; h < E; h++)
          memcpy(EV[o] + BEFORE + d * V2 + h * V, ct + (long)o * YL3 + (d * E + h) * E, E * 4);
#pragma omp for nowait
    for (int m = 0; m < V3; m += 624) {
      f32 Z[VC * 624] __attribute__((aligned(64)));
      int l = V3 - m < 624 ? V3 - m : 624;
      convflat(EV[0] + m, BEFORE + VLP, back, VS, VC, Wb[0], VC, Z, 624, l);
      for (int c = 0; c < VC; c++)
        memcpy(dx + (long)c * V3 + m, Z + c * 624, l * 4);
    }
#pragma omp for
    for (int q = 0; q < VC * VS; q += 36)
      wgrad(EV[0] + BEFORE, BEFORE + VLP, 0, x, V3, 0, off, VS, VC, VC, 1, (LV + 15) / 16 * 16,
            dw, q, q + 36);
  }
}
