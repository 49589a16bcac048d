// Names for what the kernels are made of: vectors of 16 floats, an exponential, NT threads.
//
// Every kernel is a pair: `NAME_value(arguments, y, saved)` and
// `NAME_gradients(arguments, y, saved, adjoint of y, gradients)`, arrays of floats in C order, of
// the sizes of the workload. Results are written whole; `saved` is what the value keeps for the
// gradients.
#pragma once
#include <immintrin.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
typedef float f32;
#define ALW static inline __attribute__((always_inline))
// ~1.1e-7 relative error (deg-5 minimax), 11 instructions; saturates through scalef
ALW __m512 vexp(__m512 x) {
  x = _mm512_max_ps(x, _mm512_set1_ps(-104.f));
  __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), 8);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
  __m512 p = _mm512_set1_ps(0.008312477730f);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.0418905504f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.1666711569f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.4999922812f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.f));
  return _mm512_scalef_ps(p, n);
}
#define LD(p) _mm512_loadu_ps(p)
#define ST(p, v) _mm512_storeu_ps(p, v)
#define BC(s) _mm512_set1_ps(s)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define FNMA(a, b, c) _mm512_fnmadd_ps(a, b, c)
#define ADD(a, b) _mm512_add_ps(a, b)
#define SUB(a, b) _mm512_sub_ps(a, b)
#define MUL(a, b) _mm512_mul_ps(a, b)
#define Z0 _mm512_setzero_ps()
#define KEEP(v) __asm__ volatile("" : "+v"(v))
