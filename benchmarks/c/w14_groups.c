// W14: a 3 x 3 convolution of each channel by itself, 8 x 64 x 56 x 56; W14b: of 8 groups of 8
// channels, 4 x 64 x 56 x 56, by shifts of flat planes.
#include "flat_shifts.h"
enum { H = 56, X = H + 2, XL = X * X, YL = H * H };
enum { NA = 8, CA = 64, BORDER = 64 };
ALW void copy56(const f32 *from, f32 *to) {
#pragma GCC unroll 3
  for (int v = 0; v < 48; v += 16)
    ST(to + v, LD(from + v));
  _mm256_storeu_ps(to + 48, _mm256_loadu_ps(from + 48));
}
// rows x 16 results at p, of inputs ldi apart; all nine weights and the sums in registers
ALW void column(const f32 *in, int ldi, __mmask16 m, const __m512 w[9], f32 *out, int ldo,
                int rows) {
  __m512 acc[8];
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
    acc[r] = Z0;
#pragma GCC unroll 10
  for (int r = 0; r < rows + 2; r++)
#pragma GCC unroll 3
    for (int t = 0; t < 3; t++) {
      __m512 v = LD(in + r * ldi + t);
#pragma GCC unroll 3
      for (int s = 0; s < 3; s++)
        if (r - s >= 0 && r - s < rows)
          acc[r - s] = FMA(w[s * 3 + t], v, acc[r - s]);
    }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
    _mm512_mask_storeu_ps(out + r * ldo, m, acc[r]);
}
// `rows` x `cols` results; the last blocks overlap those before
ALW void channel(const f32 *in, int ldi, const __m512 w[9], f32 *out, int ldo, int rows, int cols) {
  for (int r = 0; r < rows; r += 8) {
    int i = r + 8 <= rows ? r : rows - 8;
    for (int c = 0; c < cols; c += 16) {
      int j = c + 16 <= cols ? c : cols - 16;
      column(in + i * ldi + j, ldi, 0xffff, w, out + i * ldo + j, ldo, 8);
    }
  }
}
void w14_value(const f32 *w, const f32 *x, f32 *y) {
#pragma omp parallel for num_threads(NT)
  for (int nc = 0; nc < NA * CA; nc++) {
    __m512 W[9];
    for (int k = 0; k < 9; k++)
      W[k] = BC(w[nc % CA * 9 + k]);
    channel(x + (long)nc * XL, X, W, y + (long)nc * YL, H, H, H);
  }
}
// one channel of all samples: ct with zeros around it serves both gradients
void w14_gradients(const f32 *w, const f32 *x, const f32 *y, const f32 *ct, f32 *dw, f32 *dx) {
#pragma omp parallel num_threads(NT)
  {
    f32 e[(X + 3) * BORDER] __attribute__((aligned(64)));
    memset(e, 0, sizeof e);
#pragma omp for
    for (int c = 0; c < CA; c++) {
      __m512 W[9], g[9];
      for (int k = 0; k < 9; k++) {
        W[k] = BC(w[c * 9 + 8 - k]);
        g[k] = Z0;
      }
      for (int n = 0; n < NA; n++) {
        const f32 *from = ct + ((long)n * CA + c) * YL, *in = x + ((long)n * CA + c) * XL;
        for (int h = 0; h < H; h++)
          copy56(from + h * H, e + (h + 2) * BORDER + 2);
        channel(e, BORDER, W, dx + ((long)n * CA + c) * XL, X, X, X);
        for (int v = 0; v < H; v += 16) {
          __mmask16 m = v < 48 ? 0xffff : 0xff;
          for (int h = 0; h < H; h += 4) {
            __m512 d[4];
#pragma GCC unroll 4
            for (int r = 0; r < 4; r++)
              d[r] = _mm512_maskz_loadu_ps(m, from + (h + r) * H + v);
#pragma GCC unroll 6
            for (int r = 0; r < 6; r++)
#pragma GCC unroll 3
              for (int t = 0; t < 3; t++) {
                __m512 p = _mm512_maskz_loadu_ps(m, in + (h + r) * X + v + t);
#pragma GCC unroll 3
                for (int s = 0; s < 3; s++)
                  if (r - s >= 0 && r - s < 4)
                    g[s * 3 + t] = FMA(d[r - s], p, g[s * 3 + t]);
              }
          }
        }
      }
      for (int k = 0; k < 9; k++)
        dw[c * 9 + k] = _mm512_reduce_add_ps(g[k]);
    }
  }
}
// ct with rows of X of which the last two are zero: what lies before a row is the end of the one
// before it.
enum { NB = 4, GB = 8, CB = 8, CL = XL + 2 * X + 2, CLP = CL + 62 };
static f32 CT[NB][GB * CB][CLP] __attribute__((aligned(64)));
static const int FIRST = 2 * X + 2; // of ct in its plane
static f32 WpB[GB][CB * 9 * 8], WpD[GB][CB * 9 * 8];
void w14b_value(const f32 *w, const f32 *x, f32 *y) {
  int off[9];
  for (int k = 0; k < 9; k++)
    off[k] = k / 3 * X + k % 3;
#pragma omp parallel num_threads(NT)
  {
#pragma omp for
    for (int g = 0; g < GB; g++)
      for (int o = 0; o < 8; o++)
        for (int q = 0; q < CB * 9; q++)
          WpB[g][q * 8 + o] = w[(g * 8 + o) * CB * 9 + q];
#pragma omp for collapse(2)
    for (int n = 0; n < NB; n++)
      for (int g = 0; g < GB; g++)
        for (int h0 = 0; h0 < H; h0 += 14) {
          f32 Y[8 * 816] __attribute__((aligned(64)));
          const f32 *from = x + (long)(n * GB + g) * CB * XL + h0 * X;
          convflat(from, XL, off, 9, CB, WpB[g], 8, Y, 816, 14 * X - 2);
          for (int o = 0; o < 8; o++)
            for (int h = 0; h < 14; h++)
              copy56(Y + o * 816 + h * X, y + ((long)(n * GB + g) * 8 + o) * YL + (h0 + h) * H);
        }
  }
}
void w14b_gradients(const f32 *w, const f32 *x, const f32 *y, const f32 *ct, f32 *dw, f32 *dx) {
  int off[9], back[9];
  for (int k = 0; k < 9; k++) {
    off[k] = k / 3 * X + k % 3;
    back[k] = FIRST - off[k];
  }
#pragma omp parallel num_threads(NT)
  {
#pragma omp for nowait
    for (int g = 0; g < GB; g++)
      for (int o = 0; o < 8; o++)
        for (int s = 0; s < 9; s++)
          for (int c = 0; c < CB; c++)
            WpD[g][(o * 9 + s) * 8 + c] = w[((g * 8 + o) * CB + c) * 9 + s];
#pragma omp for
    for (int no = 0; no < NB * GB * 8; no++)
      for (int h = 0; h < H; h++)
        copy56(ct + (long)no * YL + h * H, CT[0][no] + FIRST + h * X);
#pragma omp for collapse(2) nowait
    for (int n = 0; n < NB; n++)
      for (int g = 0; g < GB; g++)
        for (int m = 0; m < XL; m += 816) {
          f32 Y[8 * 816] __attribute__((aligned(64)));
          int l = XL - m < 816 ? XL - m : 816;
          convflat(CT[n][g * 8] + m, CLP, back, 9, 8, WpD[g], CB, Y, 816, l);
          for (int c = 0; c < CB; c++)
            memcpy(dx + ((long)(n * GB + g) * CB + c) * XL + m, Y + c * 816, l * 4);
        }
#pragma omp for
    for (int g = 0; g < GB; g++)
      wgrad(&CT[0][g * 8][FIRST], CLP, GB * 8 * CLP, x + g * CB * XL, XL, GB * CB * XL, off, 9, CB,
            8, NB, 3248, dw + g * 8 * CB * 9, 0, CB * 9);
  }
}
