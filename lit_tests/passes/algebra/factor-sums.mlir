// Sums within sums that are worth it become tensors.
// RUN: tadc-opt %s -p factor-sums | filecheck %s
// RUN: tadc-opt %s -p 'factor-sums{scans=true}' | filecheck %s --check-prefix SCANS
// RUN: tadc-opt %s -p 'factor-sums{sizes="N=128"}' | filecheck %s --check-prefix SIZES

// Of a product of three matrices the product of two is a tensor.
tix.program @chain (%a = "a" : !tix.tensor<[I, K], real>, %b = "b" : !tix.tensor<[K, L], real>, %c = "c" : !tix.tensor<[L, J], real>) {
  %f = tix.define "f" (%i, %j) : !tix.tensor<[I, J], real> {
    %0 = tix.sum (%k, %l) in (%k >= 0, %k + 1 <= K, %l >= 0, %l + 1 <= L) {
      %1 = tix.read %a[%i, %k]
      %2 = tix.read %b[%k, %l]
      %3 = tix.mul %1, %2
      %4 = tix.read %c[%l, %j]
      %5 = tix.mul %3, %4
      tix.yield %5
    }
    tix.yield %0
  }
  tix.return %f
}
// CHECK-LABEL: tix.program @chain
// CHECK:        %f_sum = tix.define "f_sum" (%k, %j) : !tix.tensor<[K, J], real> {
// CHECK-NEXT:     %0 = tix.sum (%l) in (%l >= 0, %l + 1 <= L) {
// CHECK-NEXT:       %1 = tix.read %b[%k, %l]
// CHECK-NEXT:       %2 = tix.read %c[%l, %j]
// CHECK-NEXT:       %3 = tix.mul %1, %2
// CHECK-NEXT:       tix.yield %3
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield %0
// CHECK-NEXT:   }
// CHECK-NEXT:   %f = tix.define "f" (%i, %j_1) : !tix.tensor<[I, J], real> {
// CHECK-NEXT:     %4 = tix.sum (%k_1) in (%k_1 >= 0, %k_1 + 1 <= K) {
// CHECK-NEXT:       %5 = tix.read %f_sum[%k_1, %j_1]
// CHECK-NEXT:       %6 = tix.read %a[%i, %k_1]
// CHECK-NEXT:       %7 = tix.mul %6, %5
// CHECK-NEXT:       tix.yield %7
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield %4
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.return %f

// A partial sum that depends on i + 2 k alone has one element for each of its values.
tix.program @coordinates (%e = "e" : !tix.tensor<[P, J], f64>, %w = "w" : !tix.tensor<[K], f64>) {
  %g = tix.define "g" (%i) : !tix.tensor<[-2 * K + P], f64> {
    %0 = tix.sum (%k, %j) in (%k >= 0, %k + 1 <= K, %j >= 0, %j + 1 <= J) {
      %1 = tix.read %e[%i + 2 * %k, %j]
      %2 = tix.read %w[%k]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %g
}
// CHECK-LABEL: tix.program @coordinates
// CHECK:        %g_sum = tix.define "g_sum" (%i) : !tix.tensor<[P], f64> {
// CHECK-NEXT:     %0 = tix.sum (%j) in (%j >= 0, %j + 1 <= J) {
// CHECK-NEXT:       %1 = tix.read %e[%i, %j]
// CHECK-NEXT:       tix.yield %1
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield %0
// CHECK-NEXT:   }
// CHECK-NEXT:   %g = tix.define "g" (%i_1) : !tix.tensor<[-2 * K + P], f64> {
// CHECK-NEXT:     %2 = tix.sum (%k) in (%k >= 0, %k + 1 <= K) {
// CHECK-NEXT:       %3 = tix.read %g_sum[%i_1 + 2 * %k]
// CHECK-NEXT:       %4 = tix.read %w[%k]
// CHECK-NEXT:       %5 = tix.mul %4, %3
// CHECK-NEXT:       tix.yield %5
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield %2
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.return %g

// A term that is the same for many elements leaves the sum. The program reads d[i + k] only where
// there is a j: sizes tell.
tix.program @terms (%u = "u" : !tix.tensor<[I, K], real>, %v = "v" : !tix.tensor<[K, J], real>, %d = "d" : !tix.tensor<[D_0], real>) {
  %h = tix.define "h" (%i, %j) : !tix.tensor<[I, J], real> {
    %0 = tix.sum (%k) in (%k >= 0, %k + 1 <= K) {
      %1 = tix.read %u[%i, %k]
      %2 = tix.read %v[%k, %j]
      %3 = tix.mul %1, %2
      %4 = tix.read %d[%i + %k]
      %5 = tix.add %3, %4
      tix.yield %5
    }
    tix.yield %0
  }
  tix.return %h
}
// CHECK-LABEL: tix.program @terms
// CHECK:        %h_sum = tix.define "h_sum" (%i) : !tix.tensor<[I], real> {
// CHECK-NEXT:     %0 = tix.if (J >= 1) {
// CHECK-NEXT:       %1 = tix.sum (%k) in (%k >= 0, %k + 1 <= K) {
// CHECK-NEXT:         %2 = tix.read %d[%i + %k]
// CHECK-NEXT:         tix.yield %2
// CHECK-NEXT:       }
// CHECK-NEXT:       tix.yield %1
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %3 = tix.constant 0.0
// CHECK-NEXT:       tix.yield %3
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield %0
// CHECK-NEXT:   }
// CHECK-NEXT:   %h = tix.define "h" (%i_1, %j) : !tix.tensor<[I, J], real> {
// CHECK-NEXT:     %4 = tix.read %h_sum[%i_1]
// CHECK-NEXT:     %5 = tix.sum (%k_1) in (%k_1 >= 0, %k_1 + 1 <= K) {
// CHECK-NEXT:       %6 = tix.read %u[%i_1, %k_1]
// CHECK-NEXT:       %7 = tix.read %v[%k_1, %j]
// CHECK-NEXT:       %8 = tix.mul %6, %7
// CHECK-NEXT:       tix.yield %8
// CHECK-NEXT:     }
// CHECK-NEXT:     %9 = tix.add %5, %4
// CHECK-NEXT:     tix.yield %9
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.return %h

// Here a partial sum would have as many terms as the sum: it stays.
tix.program @bilinear (%x = "x" : !tix.tensor<[N, I], real>, %w = "w" : !tix.tensor<[O, I, J], real>, %z = "z" : !tix.tensor<[N, J], real>) {
  %y = tix.define "y" (%n, %o) : !tix.tensor<[N, O], real> {
    %0 = tix.sum (%i, %j) in (%i >= 0, %i + 1 <= I, %j >= 0, %j + 1 <= J) {
      %1 = tix.read %x[%n, %i]
      %2 = tix.read %w[%o, %i, %j]
      %3 = tix.mul %1, %2
      %4 = tix.read %z[%n, %j]
      %5 = tix.mul %3, %4
      tix.yield %5
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK-LABEL: tix.program @bilinear
// CHECK:         %y = tix.define "y" (%n, %o) : !tix.tensor<[N, O], real> {
// CHECK:           %0 = tix.sum (%i, %j) in (%i >= 0, %i + 1 <= I, %j >= 0, %j + 1 <= J) {

// A short sum stays: to store its parts would cost more.
tix.program @short (%x = "x" : !tix.tensor<[N, M], f64>, %u = "u" : !tix.tensor<[3], f64>, %v = "v" : !tix.tensor<[3], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N - 2, M - 2], f64> {
    %0 = tix.sum (%s, %t) in (%s >= 0, %s <= 2, %t >= 0, %t <= 2) {
      %1 = tix.read %u[%s]
      %2 = tix.read %v[%t]
      %3 = tix.mul %1, %2
      %4 = tix.read %x[%i + %s, %j + %t]
      %5 = tix.mul %3, %4
      tix.yield %5
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK-LABEL: tix.program @short
// CHECK:         %y = tix.define "y" (%i, %j) : !tix.tensor<[N - 2, M - 2], f64> {
// CHECK:           %0 = tix.sum (%s, %t) in (%s >= 0, %s <= 2, %t >= 0, %t <= 2) {

// 1 / w[i, k] may be infinite, and the sum over j empty: it is 0 then, whatever the others are.
tix.program @infinite (%w = "w" : !tix.tensor<[I, K], real>, %x = "x" : !tix.tensor<[K, J], real>) {
  %y = tix.define "y" (%i) : !tix.tensor<[I], real> {
    %0 = tix.sum (%k, %j) in (%k >= 0, %k + 1 <= K, %j >= 0, %j + 1 <= J) {
      %1 = tix.read %w[%i, %k]
      %2 = tix.constant 1.0
      %3 = tix.div %2, %1
      %4 = tix.read %x[%k, %j]
      %5 = tix.mul %3, %4
      tix.yield %5
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK-LABEL: tix.program @infinite
// CHECK:         %y_sum = tix.define "y_sum" (%k)
// CHECK:         %y = tix.define "y" (%i) : !tix.tensor<[I], real> {
// CHECK:           tix.if (J >= 1) {
// CHECK:             tix.sum ([[K:%.*]]) in ([[K]] >= 0, [[K]] + 1 <= K) {
// CHECK:               tix.read %y_sum{{.*}}[[K]]
// CHECK:               tix.div
// CHECK:           } else {
// CHECK-NEXT:        tix.constant 0.0

// Terms of an extremum are compared with it: they round as they are written.
tix.program @compared (%x = "x" : !tix.tensor<[I, K], real>, %w = "w" : !tix.tensor<[K, J], real>, %z = "z" : !tix.tensor<[N, J], real>) {
  %m = tix.define "m" (%i) : !tix.tensor<[I], real> {
    %0 = tix.max (%n) in (%n >= 0, %n + 1 <= N) {
      %1 = tix.sum (%k, %j) in (%k >= 0, %k + 1 <= K, %j >= 0, %j + 1 <= J) {
        %2 = tix.read %x[%i, %k]
        %3 = tix.read %w[%k, %j]
        %4 = tix.mul %2, %3
        %5 = tix.read %z[%n, %j]
        %6 = tix.mul %4, %5
        tix.yield %6
      }
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %m
}
// CHECK-LABEL: tix.program @compared
// CHECK:         %m = tix.define "m" (%i) : !tix.tensor<[I], real> {
// CHECK:             %1 = tix.sum (%k, %j) in (%k >= 0, %k + 1 <= K, %j >= 0, %j + 1 <= J) {

// A sum from an element on takes as many terms with a tensor of partial sums as without, but reads one
// number for each, in place of two, of which elements of y share none but a; and one term for an
// element where loops carry totals.
tix.program @triangle (%a = "a" : !tix.tensor<[I, J], real>, %b = "b" : !tix.tensor<[I, J], real>) {
  %y = tix.define "y" (%k) : !tix.tensor<[J], real> {
    %0 = tix.sum (%i, %j) in (%i >= 0, %i + 1 <= I, %j >= %k, %j + 1 <= J) {
      %1 = tix.read %a[%i, %j]
      %2 = tix.read %b[%i, %k]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK-LABEL: tix.program @triangle
// CHECK-NEXT:    tix.define "y_sum" (%i, %k)
// SCANS-LABEL: tix.program @triangle
// SCANS-NEXT:    [[S:%.*]] = tix.define "y_sum" (%i, %k) : !tix.tensor<[I, J], real> {
// SCANS-NEXT:      tix.sum (%j) in (%j >= %k, %j + 1 <= J) {
// SCANS-NEXT:        tix.read %a[%i, %j]
// SCANS:         tix.define "y" (%k_1) : !tix.tensor<[J], real> {
// SCANS-NEXT:      tix.sum (%i_1) in (%i_1 >= 0, %i_1 + 1 <= I) {
// SCANS-DAG:         tix.read %b[%i_1, %k_1]
// SCANS-DAG:         tix.read [[S]][%i_1, %k_1]

// Terms of a window that only some elements have cost a test for each of its indices: two windows
// are cheaper, where a cache holds what is between.
tix.program @separable (%a = "a" : !tix.tensor<[5], f32>, %x = "x" : !tix.tensor<[N, N, N], f32>) {
  %y = tix.define "y" (%i, %j, %k) : !tix.tensor<[N, N, N], f32> {
    %0 = tix.sum (%s, %t) in (%s >= 0, %s <= 4, %i >= %s, %t >= 0, %t <= 4, %j >= %t) {
      %1 = tix.read %x[%i - %s, %j - %t, %k]
      %2 = tix.read %a[%s]
      %3 = tix.read %a[%t]
      %4 = tix.mul %1, %2
      %5 = tix.mul %4, %3
      tix.yield %5
    }
    tix.yield %0
  }
  tix.return %y
}
// SIZES-LABEL: tix.program @separable
// SIZES:         %y_sum = tix.define "y_sum" (%i, %j, %k) : !tix.tensor<[N, N, N], f32> {
// SIZES-NEXT:      tix.sum (
// SIZES:         %y = tix.define
// SIZES-NEXT:      tix.sum (
// CHECK-LABEL: tix.program @separable
// CHECK-NOT:     y_sum
// CHECK:         tix.sum (%s, %t)

// A factor that is dear, and the same for all d, is stored where something as large is read.
tix.program @attention (%s = "s" : !tix.tensor<[I, J], real>, %v = "v" : !tix.tensor<[J, D], real>) {
  %y = tix.define "y" (%i, %d) : !tix.tensor<[I, D], real> {
    %0 = tix.sum (%j) in (%j >= 0, %j + 1 <= J) {
      %1 = tix.read %s[%i, %j]
      %2 = tix.exp %1
      %3 = tix.read %v[%j, %d]
      %4 = tix.mul %2, %3
      tix.yield %4
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK-LABEL: tix.program @attention
// CHECK:         [[F:%.*]] = tix.define "y_factor" (%i, %j) : !tix.tensor<[I, J], real> {
// CHECK:           tix.exp
// CHECK:         tix.define "y"
// CHECK:           tix.sum (
// CHECK-NOT:         tix.exp
// CHECK:             tix.read [[F]][

// Nothing as large is read: the kernel between points is computed where it is used.
tix.program @kernel (%a = "a" : !tix.tensor<[I], real>, %b = "b" : !tix.tensor<[J], real>, %v = "v" : !tix.tensor<[J, D], real>) {
  %y = tix.define "y" (%i, %d) : !tix.tensor<[I, D], real> {
    %0 = tix.sum (%j) in (%j >= 0, %j + 1 <= J) {
      %1 = tix.read %a[%i]
      %2 = tix.read %b[%j]
      %3 = tix.mul %1, %2
      %4 = tix.exp %3
      %5 = tix.read %v[%j, %d]
      %6 = tix.mul %4, %5
      tix.yield %6
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK-LABEL: tix.program @kernel
// CHECK-NOT:     tix.define "y_factor"

// What two definitions sum is one tensor, whatever the names of indices and the order of factors.
tix.program @shared (%x = "x" : !tix.tensor<[N, C], real>, %w = "w" : !tix.tensor<[N, C], real>) {
  %f = tix.define "f" (%c) : !tix.tensor<[C], real> {
    %0 = tix.sum (%n) in (%n >= 0, %n + 1 <= N) {
      %1 = tix.read %x[%n, %c]
      %2 = tix.read %w[%n, %c]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    %4 = tix.exp %0
    tix.yield %4
  }
  %g = tix.define "g" (%i) : !tix.tensor<[C], real> {
    %0 = tix.sum (%k) in (%k >= 0, %k + 1 <= N) {
      %1 = tix.read %w[%k, %i]
      %2 = tix.read %x[%k, %i]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    %4 = tix.sqrt %0
    tix.yield %4
  }
  tix.return %f, %g
}
// CHECK-LABEL: tix.program @shared
// CHECK:         [[S:%.*]] = tix.define "f_sum" (%c) : !tix.tensor<[C], real> {
// CHECK:           tix.sum (%n)
// CHECK:         tix.define "f"
// CHECK-NEXT:      [[F:%.*]] = tix.read [[S]][%c
// CHECK-NEXT:      tix.exp [[F]]
// CHECK:         tix.define "g"
// CHECK-NEXT:      [[G:%.*]] = tix.read [[S]][%i
// CHECK-NEXT:      tix.sqrt [[G]]

// Upsampling by 2: of the sum over t there is an element for each j, which tells j // 2 and j % 2.
tix.program @phases (%w = "w" : !tix.tensor<[2, 4], real>, %x = "x" : !tix.tensor<[H, W], real>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[2 * H - 6, 2 * W - 6], real> {
    %0 = tix.floordiv (%i) by 2
    %1 = tix.floordiv (%j) by 2
    %2 = tix.sum (%s, %t) in (%s >= 0, %s <= 3, %t >= 0, %t <= 3) {
      %3 = tix.read %w[%i - 2 * %0, %s]
      %4 = tix.read %w[%j - 2 * %1, %t]
      %5 = tix.mul %3, %4
      %6 = tix.read %x[%0 + %s, %1 + %t]
      %7 = tix.mul %5, %6
      tix.yield %7
    }
    tix.yield %2
  }
  tix.return %y
}
// CHECK-LABEL: tix.program @phases
// CHECK:        %y_sum = tix.define "y_sum" (%{{.*}}, %j) : !tix.tensor<[H, 2 * W - 6], real> {
// CHECK:          tix.sum (%t) in (%t >= 0, %t <= 3) {
// CHECK-NEXT:       [[Q:%.*]] = tix.floordiv (%j) by 2
// CHECK-NEXT:       tix.read %w[%j - 2 * [[Q]], %t]
// CHECK-NEXT:       tix.read %x[%{{.*}}, [[Q]] + %t]
// CHECK:        %y = tix.define "y"
// CHECK:          tix.sum (%s) in (%s >= 0, %s <= 3) {
// CHECK:            tix.read %y_sum[{{.*}} + %s, %j_1]
