// What is written parses to the same, in both forms.
// RUN: tadc-opt %s --allow-unregistered-dialect | tadc-opt --allow-unregistered-dialect | filecheck %s
// RUN: tadc-opt %s --allow-unregistered-dialect --print-op-generic | tadc-opt --allow-unregistered-dialect | filecheck %s

// A program: arguments, a definition over a sum, reads.
tix.program @correlate (%w = "w" : !tix.tensor<[3], f64>, %x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N - 2], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 2) {
      %1 = tix.read %w[%k]
      %2 = tix.read %x[%i + %k]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK:      tix.program @correlate (%w = "w" : !tix.tensor<[3], f64>, %x = "x" : !tix.tensor<[N], f64>) {
// CHECK-NEXT:   %y = tix.define "y" (%i) : !tix.tensor<[N - 2], f64> {
// CHECK-NEXT:     %0 = tix.sum (%k) in (%k >= 0, %k <= 2) {
// CHECK-NEXT:       %1 = tix.read %w[%k]
// CHECK-NEXT:       %2 = tix.read %x[%i + %k]
// CHECK-NEXT:       %3 = tix.mul %1, %2
// CHECK-NEXT:       tix.yield %3
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield %0
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.return %y
// CHECK-NEXT: }

// Rank 0, element types, no argument, no result, several results.
tix.program @scalar (%s = "s" : !tix.tensor<[], real>) {
  %t = tix.define "t" () : !tix.tensor<[], f32> {
    %0 = tix.read %s[]
    tix.yield %0
  }
  %u = tix.define "u" () : !tix.tensor<[], f64> {
    %0 = tix.read %t[]
    tix.yield %0
  }
  tix.return %t, %u, %s
}
tix.program @nothing () {
  tix.return
}

// CHECK:      tix.program @scalar (%s = "s" : !tix.tensor<[], real>) {
// CHECK-NEXT:   %t = tix.define "t" () : !tix.tensor<[], f32> {
// CHECK-NEXT:     %0 = tix.read %s[]
// CHECK-NEXT:     tix.yield %0
// CHECK-NEXT:   }
// CHECK-NEXT:   %u = tix.define "u" () : !tix.tensor<[], f64> {
// CHECK-NEXT:     %1 = tix.read %t[]
// CHECK-NEXT:     tix.yield %1
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.return %t, %u, %s
// CHECK-NEXT: }
// CHECK-NEXT: tix.program @nothing () {
// CHECK-NEXT:   tix.return
// CHECK-NEXT: }

// What is known of sizes.
tix.program @limited sizes (#tix.size<R = min((N - 1) floordiv 2)>) most {M = 9, N = 127} (%x = "x" : !tix.tensor<[N, M], f32>) {
  tix.return
}
tix.program @limited_alone most {N = 127} () {
  tix.return
}

// CHECK-NEXT: tix.program @limited sizes (#tix.size<R = min((N - 1) floordiv 2)>) most {M = 9, N = 127} (%x = "x" : !tix.tensor<[N, M], f32>) {
// CHECK-NEXT:   tix.return
// CHECK-NEXT: }
// CHECK-NEXT: tix.program @limited_alone most {N = 127} () {
// CHECK-NEXT:   tix.return
// CHECK-NEXT: }

// Derived sizes, and sizes in types, reads, sums and values.
tix.program @sizes sizes (#tix.size<R = min((N - 1) floordiv 2, (M) floordiv 1)>, #tix.size<Q = min((-3 * R + 7) floordiv 5)>) (%x = "x" : !tix.tensor<[N, 2 * M + 1], f32>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[R, Q + R - 1], f32> {
    %0 = tix.sum () in (N >= 3, R == Q) {
      %1 = tix.read %x[N - 1, 0]
      tix.yield %1
    }
    %1 = tix.index_to_real (N - M)
    %2 = tix.add %0, %1
    tix.yield %2
  }
  tix.return %y
}

// CHECK:      tix.program @sizes sizes (#tix.size<R = min((N - 1) floordiv 2, (M) floordiv 1)>, #tix.size<Q = min((-3 * R + 7) floordiv 5)>) (%x = "x" : !tix.tensor<[N, 2 * M + 1], f32>) {
// CHECK-NEXT:   %y = tix.define "y" (%i, %j) : !tix.tensor<[R, Q + R - 1], f32> {
// CHECK-NEXT:     %0 = tix.sum () in (N >= 3, Q == R) {
// CHECK-NEXT:       %1 = tix.read %x[N - 1, 0]
// CHECK-NEXT:       tix.yield %1
// CHECK-NEXT:     }
// CHECK-NEXT:     %2 = tix.index_to_real (-M + N)
// CHECK-NEXT:     %3 = tix.add %0, %2
// CHECK-NEXT:     tix.yield %3
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.return %y
// CHECK-NEXT: }

// Dimensions that are seen as one, whose size may be a product of sizes.
tix.program @views (%x = "x" : !tix.tensor<[N, M + 2, 3], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[N, M + 2, 3], f64> as [3 * N * M + 6 * N] {
    %0 = tix.read %x[%p] as [6 * N + 3 * M * N]
    %1 = tix.sum (%q) in (%q >= 0, %q + 1 <= N * M * M) {
      %2 = tix.read %x[0, %q, 0] as [N, M + 2, 3]
      tix.yield %2
    }
    %3 = tix.mul %0, %1
    tix.yield %3
  }
  tix.return %y
}

// CHECK:      tix.program @views (%x = "x" : !tix.tensor<[N, M + 2, 3], f64>) {
// CHECK-NEXT:   %y = tix.define "y" (%p) : !tix.tensor<[N, M + 2, 3], f64> as [3 * M * N + 6 * N] {
// CHECK-NEXT:     %0 = tix.read %x[%p] as [3 * M * N + 6 * N]
// CHECK-NEXT:     %1 = tix.sum (%q) in (%q >= 0, %q + 1 <= M * M * N) {
// CHECK-NEXT:       %2 = tix.read %x[0, %q, 0] as [N, M + 2, 3]

// Affine forms: like terms are joined, indices stand first, numbers last, zeros vanish.
tix.program @forms (%x = "x" : !tix.tensor<[N, N, N], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.read %x[N - 1 - %i, -2 * %j + 3 * %i, %i - %i]
    %1 = tix.read %x[1 + %j + 1, -%i -1, N + %j - -4]
    %2 = tix.index_to_real (-%j)
    %3 = tix.index_to_real (-5)
    %q = tix.floordiv (%i + N - 1) by 3
    %4 = tix.read %x[%q, %i - 3 * %q, 0]
    %5 = tix.add %0, %1
    tix.yield %5
  }
  tix.return %y
}

// CHECK:      tix.program @forms (%x = "x" : !tix.tensor<[N, N, N], f64>) {
// CHECK-NEXT:   %y = tix.define "y" (%i, %j) : !tix.tensor<[N, N], f64> {
// CHECK-NEXT:     %0 = tix.read %x[-%i + N - 1, 3 * %i - 2 * %j, 0]
// CHECK-NEXT:     %1 = tix.read %x[%j + 2, -%i - 1, %j + N + 4]
// CHECK-NEXT:     %2 = tix.index_to_real (-%j)
// CHECK-NEXT:     %3 = tix.index_to_real (-5)
// CHECK-NEXT:     %q = tix.floordiv (%i + N - 1) by 3
// CHECK-NEXT:     %4 = tix.read %x[%q, -3 * %q + %i, 0]
// CHECK-NEXT:     %5 = tix.add %0, %1
// CHECK-NEXT:     tix.yield %5
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.return %y
// CHECK-NEXT: }

// Constraints: both sides become positive, an index stands to the left.
tix.program @sums (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.sum (%k, %l) in (0 <= %k, %k <= %i, -2 * %k <= -3 - %l, %k == 2 * %l, 0 == %l - %j) {
      %1 = tix.sum (%m) in (N - %m - 1 >= 0, %m + 3 >= 0, -%m - %k >= 5) {
        %2 = tix.read %x[%m + %k]
        tix.yield %2
      }
      tix.yield %1
    }
    %1 = tix.sum () in () {
      tix.yield %0
    }
    tix.yield %1
  }
  tix.return %y
}

// CHECK:      tix.program @sums (%x = "x" : !tix.tensor<[N], f64>) {
// CHECK-NEXT:   %y = tix.define "y" (%i, %j) : !tix.tensor<[N, N], f64> {
// CHECK-NEXT:     %0 = tix.sum (%k, %l) in (%k >= 0, %i >= %k, 2 * %k >= %l + 3, %k == 2 * %l, %j == %l) {
// CHECK-NEXT:       %1 = tix.sum (%m) in (%m + 1 <= N, %m >= -3, %k + %m <= -5) {
// CHECK-NEXT:         %2 = tix.read %x[%m + %k]
// CHECK-NEXT:         tix.yield %2
// CHECK-NEXT:       }
// CHECK-NEXT:       tix.yield %1
// CHECK-NEXT:     }
// CHECK-NEXT:     %3 = tix.sum () in () {
// CHECK-NEXT:       tix.yield %0
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield %3
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.return %y
// CHECK-NEXT: }

// Conditions: alternatives, an empty one, nesting.
tix.program @conditions (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.read %x[%i]
    %1 = tix.if (%i >= 1, %j == 0) or (%i <= -3) or () {
      %2 = tix.if (N >= 7) {
        tix.yield %0
      } else {
        %3 = tix.constant 1
        tix.yield %3
      }
      tix.yield %2
    } else {
      %2 = tix.constant -2.5
      tix.yield %2
    }
    tix.yield %1
  }
  tix.return %y
}

// CHECK:      tix.program @conditions (%x = "x" : !tix.tensor<[N], f64>) {
// CHECK-NEXT:   %y = tix.define "y" (%i, %j) : !tix.tensor<[N, N], f64> {
// CHECK-NEXT:     %0 = tix.read %x[%i]
// CHECK-NEXT:     %1 = tix.if (%i >= 1, %j == 0) or (%i <= -3) or () {
// CHECK-NEXT:       %2 = tix.if (N >= 7) {
// CHECK-NEXT:         tix.yield %0
// CHECK-NEXT:       } else {
// CHECK-NEXT:         %3 = tix.constant 1.0
// CHECK-NEXT:         tix.yield %3
// CHECK-NEXT:       }
// CHECK-NEXT:       tix.yield %2
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %4 = tix.constant -2.5
// CHECK-NEXT:       tix.yield %4
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield %1
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.return %y
// CHECK-NEXT: }

// Every scalar operation.
tix.program @scalars (%x = "x" : !tix.tensor<[], f64>) {
  %y = tix.define "y" () : !tix.tensor<[], f64> {
    %x0 = tix.read %x[]
    %neg = tix.neg %x0
    %abs = tix.abs %x0
    %sign = tix.sign %x0
    %sqrt = tix.sqrt %x0
    %exp = tix.exp %x0
    %log = tix.log %x0
    %log10 = tix.log10 %x0
    %log1p = tix.log1p %x0
    %expm1 = tix.expm1 %x0
    %sin = tix.sin %x0
    %cos = tix.cos %x0
    %tan = tix.tan %x0
    %asin = tix.asin %x0
    %acos = tix.acos %x0
    %atan = tix.atan %x0
    %sinh = tix.sinh %x0
    %cosh = tix.cosh %x0
    %tanh = tix.tanh %x0
    %erf = tix.erf %x0
    %erfc = tix.erfc %x0
    %floor = tix.floor %x0
    %ceil = tix.ceil %x0
    %round = tix.round %x0
    %sigmoid = tix.sigmoid %x0
    %relu = tix.relu %x0
    %b0 = tix.add %x0, %neg
    %b1 = tix.sub %x0, %neg
    %b2 = tix.mul %x0, %neg
    %b3 = tix.div %x0, %neg
    %b4 = tix.pow %x0, %neg
    %b5 = tix.atan2 %x0, %neg
    %b6 = tix.maximum %x0, %neg
    %b7 = tix.minimum %x0, %neg
    tix.yield %relu
  }
  tix.return %y
}

// CHECK:      tix.program @scalars (%x = "x" : !tix.tensor<[], f64>) {
// CHECK-NEXT:   %y = tix.define "y" () : !tix.tensor<[], f64> {
// CHECK-NEXT:     %x0 = tix.read %x[]
// CHECK-NEXT:     %neg = tix.neg %x0
// CHECK-NEXT:     %abs = tix.abs %x0
// CHECK-NEXT:     %sign = tix.sign %x0
// CHECK-NEXT:     %sqrt = tix.sqrt %x0
// CHECK-NEXT:     %exp = tix.exp %x0
// CHECK-NEXT:     %log = tix.log %x0
// CHECK-NEXT:     %log10 = tix.log10 %x0
// CHECK-NEXT:     %log1p = tix.log1p %x0
// CHECK-NEXT:     %expm1 = tix.expm1 %x0
// CHECK-NEXT:     %sin = tix.sin %x0
// CHECK-NEXT:     %cos = tix.cos %x0
// CHECK-NEXT:     %tan = tix.tan %x0
// CHECK-NEXT:     %asin = tix.asin %x0
// CHECK-NEXT:     %acos = tix.acos %x0
// CHECK-NEXT:     %atan = tix.atan %x0
// CHECK-NEXT:     %sinh = tix.sinh %x0
// CHECK-NEXT:     %cosh = tix.cosh %x0
// CHECK-NEXT:     %tanh = tix.tanh %x0
// CHECK-NEXT:     %erf = tix.erf %x0
// CHECK-NEXT:     %erfc = tix.erfc %x0
// CHECK-NEXT:     %floor = tix.floor %x0
// CHECK-NEXT:     %ceil = tix.ceil %x0
// CHECK-NEXT:     %round = tix.round %x0
// CHECK-NEXT:     %sigmoid = tix.sigmoid %x0
// CHECK-NEXT:     %relu = tix.relu %x0
// CHECK-NEXT:     %b0 = tix.add %x0, %neg
// CHECK-NEXT:     %b1 = tix.sub %x0, %neg
// CHECK-NEXT:     %b2 = tix.mul %x0, %neg
// CHECK-NEXT:     %b3 = tix.div %x0, %neg
// CHECK-NEXT:     %b4 = tix.pow %x0, %neg
// CHECK-NEXT:     %b5 = tix.atan2 %x0, %neg
// CHECK-NEXT:     %b6 = tix.maximum %x0, %neg
// CHECK-NEXT:     %b7 = tix.minimum %x0, %neg
// CHECK-NEXT:     tix.yield %relu
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.return %y
// CHECK-NEXT: }

// Attributes on their own; a size called d0 makes the dimensions dd0, dd1.
"test.op"() {
  empty_map = #tix.map<() -> ()>,
  map = #tix.map<(i, j) -> (-i + 1, 2 * j - N, 0)>,
  renamed = #tix.map<(i, j) -> (i + d0)>,
  everything = #tix.set<(i) : ()>,
  point = #tix.set<() : (N >= 1, 0 >= 0, -1 >= 0)>,
  set = #tix.set<(i, j) : (i <= -3, j == 2 * i, j - 1 >= N, i + j >= -2, N >= i)>,
  size = #tix.size<R = min((N) floordiv 1)>
} : () -> ()

// CHECK:      "test.op"() {empty_map = #tix.map<() -> ()>, map = #tix.map<(d0, d1) -> (-d0 + 1, 2 * d1 - N, 0)>, renamed = #tix.map<(dd0, dd1) -> (dd0 + d0)>, everything = #tix.set<(d0) : ()>, point = #tix.set<() : (N >= 1, 0 >= 0, 0 >= 1)>, set = #tix.set<(d0, d1) : (d0 <= -3, 2 * d0 == d1, d1 >= N + 1, d0 + d1 >= -2, d0 <= N)>, size = #tix.size<R = min((N) floordiv 1)>} : () -> ()
