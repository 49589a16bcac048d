#include "flat_shifts.h"
// W3: y[n,o,t]=sum w[o,c,s] x[n,c,2t+3s], n=8,c=o=32,t=512,s=5, x length 1035
enum {
  N3 = 8,
  C3 = 32,
  O3 = 32,
  T3 = 512,
  S3 = 5,
  L3 = 1035,
  H3 = 640,
  T3P = 528 + 48
}; // phase rows of 640 floats (518/517 used, zero tail)
static f32 X3[N3][C3][2][H3] __attribute__((aligned(64)));
static f32 Wp3[O3 * C3 * S3], WpE[C3 * O3 * 3], WpO[C3 * O3 * 2];
static const int off3[5] = {0, H3 + 1, 3, H3 + 4, 6};
void w3_value(const f32 *w, const f32 *x, f32 *y) {
#pragma omp parallel num_threads(NT)
  {
#pragma omp for nowait
    for (int ob = 0; ob < O3 / 8; ob++)
      for (int q = 0; q < C3 * S3; q++)
        for (int o = 0; o < 8; o++)
          Wp3[(ob * C3 * S3 + q) * 8 + o] = w[(ob * 8 + o) * C3 * S3 + q];
#pragma omp for
    for (int nc = 0; nc < N3 * C3; nc++) {
      f32(*r)[H3] = X3[nc / C3][nc % C3];
      const f32 *xx = x + nc * L3;
      for (int m = 0; m < 517; m++) {
        r[0][m] = xx[2 * m];
        r[1][m] = xx[2 * m + 1];
      }
      r[0][517] = xx[1034];
    }
#pragma omp for
    for (int n = 0; n < N3; n++) {
      f32 Y[O3 * T3P] __attribute__((aligned(64)));
      convflat(X3[n][0][0], 2 * H3, off3, S3, C3, Wp3, O3, Y, T3P, T3);
      for (int o = 0; o < O3; o++)
        memcpy(y + ((size_t)n * O3 + o) * T3, Y + o * T3P, T3 * 4);
    }
  }
}
// uses X3 saved by forward (de-interleaved copy)
static f32 CT3[N3][O3][H3] __attribute__((aligned(64))); // 8 zeros, then 512, then zeros
void w3_gradients(const f32 *w, const f32 *x, const f32 *y, const f32 *ct, f32 *dw, f32 *dx) {
  // dx[2m+p]=sum_{o,s:s&1==p} w[o,c,s] ct[o,m-(3s-p)/2]; even s=0,2,4 -> shifts 0,3,6 ; odd s=1,3
  // -> 1,4
  static const int oe[3] = {8, 5, 2}, oo[2] = {7, 4};
#pragma omp parallel num_threads(NT)
  {
#pragma omp for nowait
    for (int cb = 0; cb < C3 / 8; cb++)
      for (int o = 0; o < O3; o++) {
        for (int s = 0; s < 3; s++)
          for (int c = 0; c < 8; c++)
            WpE[((cb * O3 + o) * 3 + s) * 8 + c] = w[(o * C3 + cb * 8 + c) * S3 + 2 * s];
        for (int s = 0; s < 2; s++)
          for (int c = 0; c < 8; c++)
            WpO[((cb * O3 + o) * 2 + s) * 8 + c] = w[(o * C3 + cb * 8 + c) * S3 + 2 * s + 1];
      }
#pragma omp for
    for (int no = 0; no < N3 * O3; no++) {
      memcpy(&CT3[no / O3][no % O3][8], ct + (size_t)no * T3, T3 * 4);
    }
#pragma omp for nowait
    for (int n = 0; n < N3; n++) {
      f32 Y[C3 * T3P] __attribute__((aligned(64))), Y2[C3 * T3P] __attribute__((aligned(64)));
      convflat(CT3[n][0], H3, oe, 3, O3, WpE, C3, Y, T3P, 518);
      convflat(CT3[n][0], H3, oo, 2, O3, WpO, C3, Y2, T3P, 517);
      for (int c = 0; c < C3; c++) {
        f32 *o = dx + ((size_t)n * C3 + c) * L3;
        for (int m = 0; m < 517; m++) {
          o[2 * m] = Y[c * T3P + m];
          o[2 * m + 1] = Y2[c * T3P + m];
        }
        o[1034] = Y[c * T3P + 517];
      }
    }
#pragma omp for
    for (int q = 0; q < C3 * S3; q += 20)
      wgrad(&CT3[0][0][8], H3, O3 * H3, &X3[0][0][0][0], 2 * H3, C3 * 2 * H3, off3, S3, C3, O3, N3,
            T3, dw, q, q + 20);
  }
}
// W3b conv2d: y[n,o,h,w]=sum k[o,c,p,q] x[n,c,h+p,w+q]; x 58x58, y 56x56
enum {
  NB = 4,
  CB = 32,
  OB = 32,
  HW = 56,
  XW = 58,
  XL = XW * XW,
  XLP = XL + 64 + 16,
  YL = HW * XW,
  YLP = 3264,
  CW = 60,
  CL = CW * CW,
  CLP = CL + 200
};
static f32 XP[NB][CB][XLP] __attribute__((aligned(64)));
static f32 WpB[OB * CB * 9], WpD[OB * CB * 9];
static f32 CTP[NB][OB][CLP]
    __attribute__((aligned(64))); // ct with 2-wide zero border, row stride 60
static f32 CTQ[NB][OB][YLP] __attribute__((aligned(64))); // ct with row stride 58, zero pads
void w3b_value(const f32 *w, const f32 *x, f32 *y) {
  int off[9];
  for (int p = 0; p < 3; p++)
    for (int q = 0; q < 3; q++)
      off[p * 3 + q] = p * XW + q;
#pragma omp parallel num_threads(NT)
  {
#pragma omp for nowait
    for (int ob = 0; ob < OB / 8; ob++)
      for (int q = 0; q < CB * 9; q++)
        for (int o = 0; o < 8; o++)
          WpB[(ob * CB * 9 + q) * 8 + o] = w[(ob * 8 + o) * CB * 9 + q];
#pragma omp for
    for (int nc = 0; nc < NB * CB; nc++)
      memcpy(XP[nc / CB][nc % CB], x + (size_t)nc * XL, XL * 4);
#pragma omp for collapse(2)
    for (int n = 0; n < NB; n++)
      for (int t = 0; t < 4; t++) { // 14 output rows = 812 -> 816 = 17*48
        f32 Y[OB * 816] __attribute__((aligned(64)));
        int m0 = t * 14 * XW;
        convflat(XP[n][0] + m0, XLP, off, 9, CB, WpB, OB, Y, 816, 812);
        for (int o = 0; o < OB; o++)
          for (int h = 0; h < 14; h++)
            memcpy(y + (((size_t)n * OB + o) * HW + t * 14 + h) * HW, Y + o * 816 + h * XW, HW * 4);
      }
  }
}
void w3b_gradients(const f32 *w, const f32 *x, const f32 *y, const f32 *ct, f32 *dw, f32 *dx) {
  int offd[9], off[9];
  for (int p = 0; p < 3; p++)
    for (int q = 0; q < 3; q++) {
      offd[p * 3 + q] = (2 - p) * CW + (2 - q);
      off[p * 3 + q] = p * XW + q;
    }
#pragma omp parallel num_threads(NT)
  {
#pragma omp for nowait
    for (int cb = 0; cb < CB / 8; cb++)
      for (int o = 0; o < OB; o++)
        for (int s = 0; s < 9; s++)
          for (int c = 0; c < 8; c++)
            WpD[((cb * OB + o) * 9 + s) * 8 + c] = w[(o * CB + cb * 8 + c) * 9 + s];
#pragma omp for
    for (int no = 0; no < NB * OB; no++)
      for (int h = 0; h < HW; h++) {
        const f32 *s = ct + ((size_t)no * HW + h) * HW;
        memcpy(CTP[0][0] + (size_t)no * CLP + (h + 2) * CW + 2, s, HW * 4);
        memcpy(CTQ[0][0] + (size_t)no * YLP + h * XW, s, HW * 4);
      }
#pragma omp for collapse(2) nowait
    for (int n = 0; n < NB; n++)
      for (int t = 0; t < 4; t++) {
        int r0 = t * 15, nr = t == 3 ? 13 : 15; // 58 rows
        f32 Y[CB * 912] __attribute__((aligned(64)));
        convflat(CTP[n][0] + r0 * CW, CLP, offd, 9, OB, WpD, CB, Y, 912, nr * CW);
        for (int c = 0; c < CB; c++)
          for (int h = 0; h < nr; h++)
            memcpy(dx + (((size_t)n * CB + c) * XW + r0 + h) * XW, Y + c * 912 + h * CW, XW * 4);
      }
#pragma omp for
    for (int q = 0; q < CB * 9; q += 36)
      wgrad(&CTQ[0][0][0], YLP, OB * YLP, &XP[0][0][0], XLP, CB * XLP, off, 9, CB, OB, NB, 3248, dw,
            q, q + 36);
  }
}
