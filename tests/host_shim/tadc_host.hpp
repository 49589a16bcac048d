// tadc_host.hpp: run a printed CUDA C kernel on the CPU, one block after another, the threads of a block as fibers.
// host_shim.py compiles it.  A kernel must not be a template; TADC_ENTRY(name) follows it, in the same namespace.
// What it checks while it runs: all live threads of a block wait at the same __syncthreads() line; each lane that a
// *_sync mask names arrives; shared memory starts as NaN/0xFF in each block; TADC_ORDER=reverse|<seed> runs the threads
// between barriers in another order, so a missing barrier gives other numbers.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <bit>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <sys/mman.h>
#if !defined(__x86_64__) && !defined(__aarch64__) || defined(TADC_UCONTEXT)
#include <ucontext.h>
#define TADC_UC 1
#endif

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __constant__ static
#define __align__(n) alignas(n)
#define __grid_constant__
#define __shared__ static __attribute__((section("tadc_shared")))
extern "C" { extern char __start_tadc_shared[] __attribute__((weak)), __stop_tadc_shared[] __attribute__((weak)); }

// ---- vector types ---------------------------------------------------------------------------------------------------
#define TADC_VEC(T, N, A2, A4) \
  struct N##1 { T x; }; struct alignas(A2) N##2 { T x, y; }; struct N##3 { T x, y, z; }; struct alignas(A4) N##4 { T x, y, z, w; }; \
  static inline N##1 make_##N##1(T x) { return {x}; } static inline N##2 make_##N##2(T x, T y) { return {x, y}; } \
  static inline N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; } static inline N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }
TADC_VEC(signed char, char, 2, 4) TADC_VEC(unsigned char, uchar, 2, 4) TADC_VEC(short, short, 4, 8) TADC_VEC(unsigned short, ushort, 4, 8)
TADC_VEC(int, int, 8, 16) TADC_VEC(unsigned, uint, 8, 16) TADC_VEC(long long, longlong, 16, 16) TADC_VEC(float, float, 8, 16) TADC_VEC(double, double, 16, 16)
struct dim3 { unsigned x = 1, y = 1, z = 1; };
static uint3 threadIdx, blockIdx; static dim3 blockDim, gridDim; static constexpr int warpSize = 32;

// ---- the block scheduler --------------------------------------------------------------------------------------------
namespace tadc {
enum class St : uint8_t { Run, Warp, Block, Done };
struct Thread; struct Fiber;
struct Thread { St st; uint32_t mask; int line, tag; uint8_t gen; Fiber* fib; uint3 tid; };
struct WarpBuf { alignas(16) unsigned char v[2][32][16]; uint32_t arrived[2]; };
struct State {
  std::vector<Thread> th; std::vector<WarpBuf> wb; int cur = 0; void (*body)(void*) = nullptr; void* arg = nullptr;
  const char* err = nullptr; long switches = 0;
#ifdef TADC_UC
  ucontext_t main;
#else
  void* main = nullptr;
#endif
};
static State S; static char errbuf[512];
struct Fiber {
#ifdef TADC_UC
  ucontext_t c;
#else
  void* sp;
#endif
  char* stack;
};
static constexpr size_t STACK = 128 << 10;
static std::vector<Fiber*> pool;
#if defined(TADC_UC)
static inline void to_main(Fiber* f) { swapcontext(&f->c, &S.main); }
static inline void to_fiber(Fiber* f) { swapcontext(&S.main, &f->c); }
#else
extern "C" void tadc_switch(void** save, void* to) __attribute__((visibility("hidden")));
#if defined(__x86_64__)
asm(".text\n.globl tadc_switch\n.hidden tadc_switch\n.type tadc_switch,@function\ntadc_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\nmovq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n");
static constexpr int SAVED = 7, RET = 6;
#else
asm(".text\n.globl tadc_switch\n.hidden tadc_switch\n.type tadc_switch,%function\ntadc_switch:\n"
    "sub sp,sp,#160\nstp x19,x20,[sp]\nstp x21,x22,[sp,#16]\nstp x23,x24,[sp,#32]\nstp x25,x26,[sp,#48]\nstp x27,x28,[sp,#64]\n"
    "stp x29,x30,[sp,#80]\nstp d8,d9,[sp,#96]\nstp d10,d11,[sp,#112]\nstp d12,d13,[sp,#128]\nstp d14,d15,[sp,#144]\n"
    "mov x9,sp\nstr x9,[x0]\nmov sp,x1\nldp x19,x20,[sp]\nldp x21,x22,[sp,#16]\nldp x23,x24,[sp,#32]\nldp x25,x26,[sp,#48]\n"
    "ldp x27,x28,[sp,#64]\nldp x29,x30,[sp,#80]\nldp d8,d9,[sp,#96]\nldp d10,d11,[sp,#112]\nldp d12,d13,[sp,#128]\n"
    "ldp d14,d15,[sp,#144]\nadd sp,sp,#160\nret\n");
static constexpr int SAVED = 20, RET = 11;
#endif
static inline void to_main(Fiber* f) { tadc_switch(&f->sp, S.main); }
static inline void to_fiber(Fiber* f) { tadc_switch(&S.main, f->sp); }
#endif
static void fiber_main() { for (;;) { S.body(S.arg); Thread& t = S.th[S.cur]; t.st = St::Done; to_main(t.fib); } }
static Fiber* new_fiber() {
  auto* f = new Fiber;
  f->stack = (char*)mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
#ifdef TADC_UC
  getcontext(&f->c); f->c.uc_stack.ss_sp = f->stack; f->c.uc_stack.ss_size = STACK; f->c.uc_link = nullptr; makecontext(&f->c, fiber_main, 0);
#else
  static int colour = 0;                        // stacks that all end at the same page offset would share a few cache sets
  auto top = ((uintptr_t)(f->stack + STACK) & ~uintptr_t(15)) - (uintptr_t)(colour++ * 7 % 64) * 64;
#if defined(__x86_64__)
  top -= 8;                                     // at entry rsp % 16 == 8, as after a call
#endif
  void** p = (void**)top - SAVED; std::memset(p, 0, SAVED * sizeof(void*)); p[RET] = (void*)fiber_main; f->sp = p;
#endif
  return f;
}
[[noreturn]] static void fail(const char* fmt, int a, int b, int c) {
  std::snprintf(errbuf, sizeof errbuf, fmt, a, b, c); S.err = errbuf; Thread& t = S.th[S.cur]; t.st = St::Done;
  for (;;) to_main(t.fib);
}
static inline void wait(St st, uint32_t mask, int line, int tag) {
  int me = S.cur; Thread& t = S.th[me]; t.st = st; t.mask = mask; t.line = line; t.tag = tag; to_main(t.fib); threadIdx = S.th[me].tid;
}
static inline void resume(int i) {
  Thread& t = S.th[i];
  if (!t.fib) { if (pool.empty()) pool.push_back(new_fiber()); t.fib = pool.back(); pool.pop_back(); }
  S.cur = i; threadIdx = t.tid; ++S.switches; to_fiber(t.fib);
  if (t.st == St::Done && !S.err) { pool.push_back(t.fib); t.fib = nullptr; }
}
static void run_block(const std::vector<int>& lane_order, const std::vector<int>& warp_order) {
  int n = (int)S.th.size(), nw = (n + 31) / 32;
  if (__start_tadc_shared) std::memset(__start_tadc_shared, 0xFF, __stop_tadc_shared - __start_tadc_shared);
  for (auto& t : S.th) { t.st = St::Run; t.gen = 0; }
  for (;;) {
    for (int w : warp_order) for (bool again = true; again;) {
      again = false;
      for (int l : lane_order) { int i = w * 32 + l; if (i < n && S.th[i].st == St::Run) { resume(i); if (S.err) return; } }
      for (int l = 0; l < 32; ++l) {
        int i = w * 32 + l; if (i >= n || S.th[i].st != St::Warp) continue;
        uint32_t m = S.th[i].mask; bool all = m >> l & 1;
        if (!all) { std::snprintf(errbuf, sizeof errbuf, "line %d: lane %d calls a *_sync whose mask does not name it", S.th[i].line, l); S.err = errbuf; return; }
        for (int k = 0; k < 32 && all; ++k) if (m >> k & 1) { int j = w * 32 + k; if (j >= n || S.th[j].st != St::Warp || S.th[j].mask != m || S.th[j].tag != S.th[i].tag) all = false; }
        if (all) { for (int k = 0; k < 32; ++k) if (m >> k & 1) S.th[w * 32 + k].st = St::Run; again = true; }
      }
    }
    int block = -1, done = 0;
    for (int i = 0; i < n; ++i) {
      if (S.th[i].st == St::Warp) { std::snprintf(errbuf, sizeof errbuf, "line %d: thread %d waits in a *_sync for lanes of mask 0x%08x that never arrive", S.th[i].line, i, S.th[i].mask); S.err = errbuf; return; }
      if (S.th[i].st == St::Done) ++done; else if (block < 0) block = i;
    }
    if (block < 0) return;
    if (done) { std::snprintf(errbuf, sizeof errbuf, "line %d: %d threads left the kernel while thread %d waits at __syncthreads", S.th[block].line, done, block); S.err = errbuf; return; }
    for (auto& t : S.th) { if (t.line != S.th[block].line) { std::snprintf(errbuf, sizeof errbuf, "threads of one block wait at different __syncthreads: lines %d and %d", S.th[block].line, t.line); S.err = errbuf; return; } t.st = St::Run; }
  }
}
static const char* launch(dim3 g, dim3 b, void (*body)(void*), void* arg) {
  size_t n = (size_t)b.x * b.y * b.z; S.err = nullptr; S.body = body; S.arg = arg; gridDim = g; blockDim = b;
  if (!n || n > 1024 || !g.x || !g.y || !g.z || g.y > 65535 || g.z > 65535 || b.z > 64) return "the launch shape is not valid on a GPU";
  S.th.assign(n, Thread{}); S.wb.resize((n + 31) / 32);
  for (unsigned i = 0; i < n; ++i) S.th[i].tid = {i % b.x, i / b.x % b.y, i / (b.x * b.y)};
  std::vector<int> lo(32), wo((n + 31) / 32); for (int i = 0; i < 32; ++i) lo[i] = i; for (size_t i = 0; i < wo.size(); ++i) wo[i] = (int)i;
  if (const char* o = std::getenv("TADC_ORDER")) {
    if (!std::strcmp(o, "reverse")) { std::reverse(lo.begin(), lo.end()); std::reverse(wo.begin(), wo.end()); }
    else { unsigned long s = std::strtoul(o, nullptr, 10) * 2 + 1; auto sh = [&](auto& v) { for (size_t i = v.size(); i > 1; --i) { s = s * 6364136223846793005ul + 1442695040888963407ul; std::swap(v[i - 1], v[(s >> 33) % i]); } }; sh(lo); sh(wo); }
  }
  for (unsigned z = 0; z < g.z; ++z) for (unsigned y = 0; y < g.y; ++y) for (unsigned x = 0; x < g.x; ++x) {
    blockIdx = {x, y, z}; run_block(lo, wo);
    if (S.err) { size_t k = std::strlen(errbuf); std::snprintf(errbuf + k, sizeof errbuf - k, " (block %u,%u,%u)", x, y, z); for (auto& t : S.th) t.fib = nullptr; return S.err; }
  }
  return nullptr;
}
template <class F> struct Call;
template <class... A> struct Call<void(A...)> {
  using Args = std::tuple<std::remove_cv_t<A>...>; void (*f)(A...); Args a;
  static void body(void* p) { auto* c = (Call*)p; std::apply(c->f, c->a); }
  // each parameter at its own address, as cuLaunchKernel's kernelParams
  template <size_t... I> void by_pointer(void** p, std::index_sequence<I...>) { ((std::memcpy(&std::get<I>(a), p[I], sizeof(std::get<I>(a)))), ...); }
  // one packed buffer, as CU_LAUNCH_PARAM_BUFFER_POINTER (what PyCUDA passes)
  template <size_t... I> void by_buffer(const char* p, std::index_sequence<I...>) {
    size_t o = 0; ((o = (o + alignof(A) - 1) & ~(alignof(A) - 1), std::memcpy(&std::get<I>(a), p + o, sizeof(A)), o += sizeof(A)), ...);
  }
};
template <class... A> const char* enter(void (*f)(A...), const unsigned* g, const unsigned* b, void** params, const void* buf) {
  using C = Call<void(A...)>; C c{f, {}};
  if (params) c.by_pointer(params, std::index_sequence_for<A...>{}); else c.by_buffer((const char*)buf, std::index_sequence_for<A...>{});
  return launch({g[0], g[1], g[2]}, {b[0], b[1], b[2]}, C::body, &c);
}
// ---- warp exchange: one wait for each shuffle, two buffers in turn
template <class T, class Pick> static inline T exchange(uint32_t mask, T v, int line, int tag, Pick pick) {
  static_assert(sizeof(T) <= 16 && std::is_trivially_copyable_v<T>);
  int me = S.cur, lane = me & 31; WarpBuf& w = S.wb[me >> 5]; int g = S.th[me].gen++ & 1;
  std::memcpy(w.v[g][lane], &v, sizeof v); wait(St::Warp, mask, line, tag);
  int src = pick(lane); if (!(mask >> src & 1)) fail("line %d: lane %d reads lane %d, which its mask does not name", line, lane, src);
  T r; std::memcpy(&r, w.v[g][src], sizeof r); return r;
}
template <class T, class Op> static inline T all_lanes(uint32_t mask, T v, int line, int tag, Op op) {
  int me = S.cur, lane = me & 31; WarpBuf& w = S.wb[me >> 5]; int g = S.th[me].gen++ & 1;
  std::memcpy(w.v[g][lane], &v, sizeof v); wait(St::Warp, mask, line, tag);
  bool first = true; T r{}; for (int k = 0; k < 32; ++k) if (mask >> k & 1) { T x; std::memcpy(&x, w.v[g][k], sizeof x); r = first ? x : op(r, x); first = false; }
  return r;
}
static inline int width_src(int lane, int s, int width, bool ok) { return ok ? s : lane; }
}  // namespace tadc
#define TADC_ENTRY(name) extern "C" const char* tadc_launch_##name(const unsigned* tadc_grid, const unsigned* tadc_block, void** tadc_params, const void* tadc_buf) { return tadc::enter(name, tadc_grid, tadc_block, tadc_params, tadc_buf); }
extern "C" inline __attribute__((used)) long tadc_switches() { return tadc::S.switches; }

// ---- synchronisation ------------------------------------------------------------------------------------------------
#define TADC_L int line = __builtin_LINE()
static inline void __syncthreads(TADC_L) { tadc::wait(tadc::St::Block, 0, line, 0); }
static inline void __syncwarp(unsigned m = ~0u, TADC_L) { tadc::wait(tadc::St::Warp, m, line, 1); }
static inline void __threadfence() {} static inline void __threadfence_block() {}
template <class T> static inline T __shfl_sync(unsigned m, T v, int s, int w = 32, TADC_L) { return tadc::exchange(m, v, line, 2, [=](int l) { return (l & ~(w - 1)) | (s & (w - 1)); }); }
template <class T> static inline T __shfl_down_sync(unsigned m, T v, unsigned d, int w = 32, TADC_L) { return tadc::exchange(m, v, line, 3, [=](int l) { return (int)((l & (w - 1)) + d) < w ? l + (int)d : l; }); }
template <class T> static inline T __shfl_up_sync(unsigned m, T v, unsigned d, int w = 32, TADC_L) { return tadc::exchange(m, v, line, 4, [=](int l) { return (l & (w - 1)) >= (int)d ? l - (int)d : l; }); }
template <class T> static inline T __shfl_xor_sync(unsigned m, T v, int x, int w = 32, TADC_L) { return tadc::exchange(m, v, line, 5, [=](int l) { int s = l ^ x; return (s & ~(w - 1)) <= (l & ~(w - 1)) ? s : l; }); }
static inline unsigned __ballot_sync(unsigned m, int p, TADC_L) { return tadc::all_lanes(m, p ? 1u << (tadc::S.cur & 31) : 0u, line, 6, [](unsigned a, unsigned b) { return a | b; }); }
static inline int __any_sync(unsigned m, int p, TADC_L) { return tadc::all_lanes(m, p != 0, line, 7, [](int a, int b) { return a | b; }); }
static inline int __all_sync(unsigned m, int p, TADC_L) { return tadc::all_lanes(m, p != 0, line, 8, [](int a, int b) { return a & b; }); }
template <class T> static inline T __reduce_add_sync(unsigned m, T v, TADC_L) { static_assert(std::is_integral_v<T>); return tadc::all_lanes(m, v, line, 9, [](T a, T b) { return T(a + b); }); }
template <class T> static inline T __reduce_max_sync(unsigned m, T v, TADC_L) { static_assert(std::is_integral_v<T>); return tadc::all_lanes(m, v, line, 10, [](T a, T b) { return std::max(a, b); }); }
// ---- atomics: one OS thread, so plain read-modify-write
template <class T> static inline T atomicAdd(T* p, std::type_identity_t<T> v) { T o = *p; *p = o + v; return o; }
template <class T> static inline T atomicMax(T* p, std::type_identity_t<T> v) { T o = *p; if (v > o) *p = v; return o; }
template <class T> static inline T atomicMin(T* p, std::type_identity_t<T> v) { T o = *p; if (v < o) *p = v; return o; }
template <class T> static inline T atomicExch(T* p, std::type_identity_t<T> v) { T o = *p; *p = v; return o; }
template <class T> static inline T atomicCAS(T* p, std::type_identity_t<T> c, std::type_identity_t<T> v) { T o = *p; if (o == c) *p = v; return o; }
// glibc declares the names __expf ... itself, so the fast ones go by macro
#define __expf tadc_expf
#define __logf tadc_logf
#define __exp10f tadc_exp10f
#define __sinf tadc_sinf
#define __cosf tadc_cosf
#define __tanf tadc_tanf
#define __powf tadc_powf
// ---- loads, stores, arithmetic --------------------------------------------------------------------------------------
template <class T> static inline T __ldg(const T* p) { return *p; }
template <class T> static inline T __ldcs(const T* p) { return *p; }
template <class T> static inline T __ldcg(const T* p) { return *p; }
template <class T> static inline void __stcs(T* p, std::type_identity_t<T> v) { *p = v; }
template <class T> static inline void __stcg(T* p, std::type_identity_t<T> v) { *p = v; }
static inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); } static inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
static inline float tadc_expf(float x) { return std::exp(x); } static inline float tadc_logf(float x) { return std::log(x); } static inline float tadc_exp10f(float x) { return exp10f(x); }
static inline float tadc_sinf(float x) { return std::sin(x); } static inline float tadc_cosf(float x) { return std::cos(x); } static inline float tadc_tanf(float x) { return std::tan(x); }
static inline float tadc_powf(float x, float y) { return std::pow(x, y); } static inline float __fdividef(float a, float b) { return a / b; } static inline float __frcp_rn(float a) { return 1.0f / a; }
static inline float __frsqrt_rn(float x) { return (float)(1.0 / std::sqrt((double)x)); } static inline float __fsqrt_rn(float x) { return std::sqrt(x); } static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fadd_rn(float a, float b) { return a + b; } static inline float __fsub_rn(float a, float b) { return a - b; } static inline float __fmul_rn(float a, float b) { return a * b; } static inline float __fmaf_rn(float a, float b, float c) { return std::fmaf(a, b, c); }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
static inline int __float_as_int(float x) { return std::bit_cast<int>(x); } static inline float __int_as_float(int x) { return std::bit_cast<float>(x); } static inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); } static inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
static inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); } static inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
static inline int __float2int_rn(float x) { return (int)std::nearbyint(x); } static inline int __float2int_rz(float x) { return (int)x; } static inline float __int2float_rn(int x) { return (float)x; }
static inline int __popc(unsigned x) { return std::popcount(x); } static inline int __clz(int x) { return std::countl_zero((unsigned)x); } static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); } static inline int __mulhi(int a, int b) { return (int)((int64_t)a * b >> 32); }
#define TADC_MM(T) static inline T min(T a, T b) { return a < b ? a : b; } static inline T max(T a, T b) { return a > b ? a : b; }
TADC_MM(int) TADC_MM(unsigned) TADC_MM(long) TADC_MM(unsigned long) TADC_MM(long long) TADC_MM(unsigned long long)
static inline float min(float a, float b) { return std::fmin(a, b); } static inline float max(float a, float b) { return std::fmax(a, b); } static inline double min(double a, double b) { return std::fmin(a, b); } static inline double max(double a, double b) { return std::fmax(a, b); }
// ---- half and bfloat16, as storage types with float arithmetic ------------------------------------------------------
struct __half { uint16_t u; }; struct alignas(4) __half2 { __half x, y; }; struct __nv_bfloat16 { uint16_t u; }; struct alignas(4) __nv_bfloat162 { __nv_bfloat16 x, y; };
typedef __half half; typedef __half2 half2;
static inline float __half2float(__half h) { uint32_t s = (h.u & 0x8000u) << 16, e = h.u >> 10 & 31, m = h.u & 1023;
  if (e == 31) return std::bit_cast<float>(s | 0x7f800000u | m << 13); if (!e) { float f = std::ldexp((float)m, -24); return s ? -f : f; } return std::bit_cast<float>(s | (e + 112) << 23 | m << 13); }
static inline __half __float2half_rn(float f) { uint32_t x = std::bit_cast<uint32_t>(f), s = x >> 16 & 0x8000u, a = x & 0x7fffffffu;
  if (a > 0x7f800000u) return {0x7fff}; if (a >= 0x477ff000u) return {(uint16_t)(s | 0x7c00u)};
  if (a < 0x38800000u) { float t = std::bit_cast<float>(a) * 16777216.0f; return {(uint16_t)(s | (uint32_t)std::nearbyint(t))}; }
  a += 0xfffu + (a >> 13 & 1); return {(uint16_t)(s | ((a - 0x38000000u) >> 13))}; }
static inline __half __float2half(float f) { return __float2half_rn(f); }
static inline float __bfloat162float(__nv_bfloat16 h) { return std::bit_cast<float>((uint32_t)h.u << 16); }
static inline __nv_bfloat16 __float2bfloat16_rn(float f) { uint32_t x = std::bit_cast<uint32_t>(f); if ((x & 0x7fffffffu) > 0x7f800000u) return {0x7fff}; return {(uint16_t)((x + 0x7fffu + (x >> 16 & 1)) >> 16)}; }
static inline __nv_bfloat16 __float2bfloat16(float f) { return __float2bfloat16_rn(f); }
static inline __half __hadd(__half a, __half b) { return __float2half_rn(__half2float(a) + __half2float(b)); } static inline __half __hmul(__half a, __half b) { return __float2half_rn(__half2float(a) * __half2float(b)); }
static inline float2 __half22float2(__half2 h) { return {__half2float(h.x), __half2float(h.y)}; } static inline __half2 __floats2half2_rn(float a, float b) { return {__float2half_rn(a), __float2half_rn(b)}; }
