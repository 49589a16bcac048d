// Sums whose value a derivative needs become definitions.
// RUN: tadc-opt %s --split-input-file -p outline-reductions | filecheck %s

// The logarithm needs the value of its operand.
tix.program @nonlinear (%x = "x" : !tix.tensor<[N, N], f64>) {
  %f = tix.define "f" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k + 1 <= N) {
      %1 = tix.read %x[%i, %k]
      tix.yield %1
    }
    %2 = tix.log %0
    tix.yield %2
  }
  tix.return %f
}
// CHECK:      %f_sum = tix.define "f_sum" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%k) in (%k >= 0, %k + 1 <= N) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%i, %k]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
// CHECK:      %f = tix.define "f" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[F_SUM:%.*]] = tix.read %f_sum[[[I]]]
// CHECK-NEXT:   [[LOG:%.*]] = tix.log [[F_SUM]]
// CHECK-NEXT:   tix.yield [[LOG]]
// CHECK-NEXT: }
// CHECK:      tix.return %f

// -----

// Not lifted: what enters linearly, through conditions too, and exp(-sum) as the value itself.
tix.program @linear (%x = "x" : !tix.tensor<[N], f64>) {
  %f = tix.define "f" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= %i) {
      %1 = tix.read %x[%k]
      tix.yield %1
    }
    %2 = tix.constant 3
    %3 = tix.mul %0, %2
    %4 = tix.if (%i >= 1) {
      %5 = tix.div %3, %2
      tix.yield %5
    } else {
      tix.yield %2
    }
    %6 = tix.read %x[%i]
    %7 = tix.sub %4, %6
    tix.yield %7
  }
  %g = tix.define "g" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= %i) {
      %1 = tix.read %x[%k]
      tix.yield %1
    }
    %2 = tix.neg %0
    %3 = tix.exp %2
    tix.yield %3
  }
  tix.return %f, %g
}
// CHECK:      %f = tix.define "f" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%k) in (%k >= 0, %i >= %k) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%k]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[C:%.*]] = tix.constant 3.0
// CHECK-NEXT:   [[MUL:%.*]] = tix.mul [[C]], [[S]]
// CHECK-NEXT:   [[B:%.*]] = tix.if (%i >= 1) {
// CHECK-NEXT:     [[DIV:%.*]] = tix.div [[MUL]], [[C]]
// CHECK-NEXT:     tix.yield [[DIV]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     tix.yield [[C]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[X2:%.*]] = tix.read %x[%i]
// CHECK-NEXT:   [[SUB:%.*]] = tix.sub [[B]], [[X2]]
// CHECK-NEXT:   tix.yield [[SUB]]
// CHECK-NEXT: }
// CHECK:      %g = tix.define "g" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[K:%.*]]) in ([[K]] >= 0, [[I]] >= [[K]]) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[[[K]]]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[NEG:%.*]] = tix.neg [[S]]
// CHECK-NEXT:   [[EXP:%.*]] = tix.exp [[NEG]]
// CHECK-NEXT:   tix.yield [[EXP]]
// CHECK-NEXT: }
// CHECK:      tix.return %f, %g

// -----

// A product with another value needs both, and a quotient the divisor: one sum, one name.
tix.program @products (%x = "x" : !tix.tensor<[N], f64>) {
  %f = tix.define "f" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= %i) {
      %1 = tix.read %x[%k]
      tix.yield %1
    }
    %2 = tix.read %x[%i]
    %3 = tix.mul %0, %2
    tix.yield %3
  }
  %g = tix.define "g" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= %i) {
      %1 = tix.read %x[%k]
      tix.yield %1
    }
    %2 = tix.constant 2
    %3 = tix.div %2, %0
    tix.yield %3
  }
  tix.return %f, %g
}
// CHECK:      %f_sum = tix.define "f_sum" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%k) in (%k >= 0, %i >= %k) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[%k]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
// CHECK:      %f = tix.define "f" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[F_SUM:%.*]] = tix.read %f_sum[[[I]]]
// CHECK-NEXT:   [[X:%.*]] = tix.read %x[[[I]]]
// CHECK-NEXT:   [[MUL:%.*]] = tix.mul [[F_SUM]], [[X]]
// CHECK-NEXT:   tix.yield [[MUL]]
// CHECK-NEXT: }
// CHECK:      %g = tix.define "g" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[F_SUM:%.*]] = tix.read %f_sum[[[I]]]
// CHECK-NEXT:   [[C:%.*]] = tix.constant 2.0
// CHECK-NEXT:   [[DIV:%.*]] = tix.div [[C]], [[F_SUM]]
// CHECK-NEXT:   tix.yield [[DIV]]
// CHECK-NEXT: }

// -----

// A sum inside a sum is stored for the indices that it holds, here all j of a box and not i. Where
// there is no i, nothing says that x has the elements: N >= 1 is asked for. A short sum is computed
// again. In h all j are at least half of a box, and x has the elements.
tix.program @nested (%x = "x" : !tix.tensor<[N, N], f64>) {
  %f = tix.define "f" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%j) in (%j >= 0, %j + 1 <= M) {
      %1 = tix.sum (%k) in (%k >= 0, %k + 1 <= N) {
        %2 = tix.read %x[%j, %k]
        tix.yield %2
      }
      %3 = tix.sqrt %1
      tix.yield %3
    }
    tix.yield %0
  }
  %g = tix.define "g" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%j) in (%j >= 0, %j + 1 <= M) {
      %1 = tix.sum (%k) in (%k >= 0, %k <= 7) {
        %2 = tix.read %x[%j, %k]
        tix.yield %2
      }
      %3 = tix.sqrt %1
      tix.yield %3
    }
    tix.yield %0
  }
  %h = tix.define "h" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%j) in (%j >= 0, %j <= %i) {
      %1 = tix.sum (%k) in (%k >= 0, %k + 1 <= N) {
        %2 = tix.read %x[%j, %k]
        tix.yield %2
      }
      %3 = tix.sqrt %1
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %f, %g, %h
}
// CHECK:      %f_sum = tix.define "f_sum" (%j) : !tix.tensor<[M], f64> {
// CHECK-NEXT:   [[B:%.*]] = tix.if (N >= 1) {
// CHECK-NEXT:     [[S:%.*]] = tix.sum (%k) in (%k >= 0, %k + 1 <= N) {
// CHECK-NEXT:       [[X:%.*]] = tix.read %x[%j, %k]
// CHECK-NEXT:       tix.yield [[X]]
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield [[S]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     [[C:%.*]] = tix.constant 0.0
// CHECK-NEXT:     tix.yield [[C]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[B]]
// CHECK-NEXT: }
// CHECK:      %f = tix.define "f" (%i) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[J:%.*]]) in ([[J]] >= 0, [[J]] + 1 <= M) {
// CHECK-NEXT:     [[F_SUM:%.*]] = tix.read %f_sum[[[J]]]
// CHECK-NEXT:     [[SQRT:%.*]] = tix.sqrt [[F_SUM]]
// CHECK-NEXT:     tix.yield [[SQRT]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
// CHECK:      %g = tix.define "g" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[J:%.*]]) in ([[J]] >= 0, [[J]] + 1 <= M) {
// CHECK-NEXT:     [[S2:%.*]] = tix.sum ([[K:%.*]]) in ([[K]] >= 0, [[K]] <= 7) {
// CHECK-NEXT:       [[X:%.*]] = tix.read %x[[[J]], [[K]]]
// CHECK-NEXT:       tix.yield [[X]]
// CHECK-NEXT:     }
// CHECK-NEXT:     [[SQRT:%.*]] = tix.sqrt [[S2]]
// CHECK-NEXT:     tix.yield [[SQRT]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
// CHECK:      %h_sum = tix.define "h_sum" ([[J:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[K:%.*]]) in ([[K]] >= 0, [[K]] + 1 <= N) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[[[J]], [[K]]]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
// CHECK:      %h = tix.define "h" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[J:%.*]]) in ([[J]] >= 0, [[I]] >= [[J]]) {
// CHECK-NEXT:     [[H_SUM:%.*]] = tix.read %h_sum[[[J]]]
// CHECK-NEXT:     [[SQRT:%.*]] = tix.sqrt [[H_SUM]]
// CHECK-NEXT:     tix.yield [[SQRT]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
// CHECK:      tix.return %f, %g, %h

// -----

// The pairs of a triangle are half of a box. That z has M rows says nothing of N: elements that the
// program may not ask for are 0. A window is a small part of a box, and its sums stay.
tix.program @triangle (%x = "x" : !tix.tensor<[N, K], f64>, %z = "z" : !tix.tensor<[M, K], f64>) {
  %f = tix.define "f" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%j) in (%j >= 0, %i >= %j + 1) {
      %1 = tix.sum (%k) in (%k >= 0, %k + 1 <= K) {
        %2 = tix.read %x[%i, %k]
        %3 = tix.read %z[%j, %k]
        %4 = tix.mul %2, %3
        tix.yield %4
      }
      %5 = tix.exp %1
      tix.yield %5
    }
    tix.yield %0
  }
  %g = tix.define "g" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%j) in (%j >= 0, %j + 9 >= %i, %i >= %j) {
      %1 = tix.sum (%k) in (%k >= 0, %k + 1 <= K) {
        %2 = tix.read %x[%i, %k]
        %3 = tix.read %z[%j, %k]
        %4 = tix.mul %2, %3
        tix.yield %4
      }
      %5 = tix.exp %1
      tix.yield %5
    }
    tix.yield %0
  }
  tix.return %f, %g
}
// CHECK:      tix.program @triangle
// CHECK-NEXT: %f_sum = tix.define "f_sum" ([[I:%.*]], [[J:%.*]]) : !tix.tensor<[N, N - 1], f64> {
// CHECK-NEXT:   [[B:%.*]] = tix.if ([[I]] >= [[J]] + 1) {
// CHECK-NEXT:     [[S:%.*]] = tix.sum ([[K:%.*]]) in ([[K]] >= 0, [[K]] + 1 <= K) {
// CHECK:        tix.yield [[S]]
// CHECK-NEXT:   } else {
// CHECK:      %f = tix.define "f" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[J:%.*]]) in ([[J]] >= 0, [[I]] >= [[J]] + 1) {
// CHECK-NEXT:     [[F_SUM:%.*]] = tix.read %f_sum[[[I]], [[J]]]
// CHECK-NEXT:     [[EXP:%.*]] = tix.exp [[F_SUM]]
// CHECK:      %g = tix.define "g" ([[I:%.*]]) : !tix.tensor<[N], f64> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum ([[J:%.*]]) in ([[J]] >= 0, [[J]] + 9 >= [[I]], [[I]] >= [[J]]) {
// CHECK-NEXT:     [[S2:%.*]] = tix.sum

// -----

// A sum under a condition is 0 where that does not hold, since its elements may not be there then.
// What it uses from outside comes along, quotients too.
tix.program @guarded (%x = "x" : !tix.tensor<[9], f64>) {
  %f = tix.define "f" (%i, %j) : !tix.tensor<[9, 5], f64> {
    %q = tix.floordiv (%i) by 2
    %0 = tix.read %x[%q]
    %1 = tix.if (%q >= 3) {
      %2 = tix.constant 1
      tix.yield %2
    } else {
      %3 = tix.sum (%k) in (%k >= 0, %k <= 6) {
        %4 = tix.read %x[%q + %k]
        %5 = tix.mul %4, %0
        tix.yield %5
      }
      %6 = tix.log %3
      tix.yield %6
    }
    tix.yield %1
  }
  tix.return %f
}
// CHECK:      %f_sum = tix.define "f_sum" (%i) : !tix.tensor<[9], f64> {
// CHECK-NEXT:   [[T:%.*]] = tix.floordiv (%i) by 2
// CHECK-NEXT:   [[B:%.*]] = tix.if ([[T]] >= 3) {
// CHECK-NEXT:     [[C:%.*]] = tix.constant 0.0
// CHECK-NEXT:     tix.yield [[C]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[[[T]]]
// CHECK-NEXT:     [[S:%.*]] = tix.sum (%k) in (%k >= 0, %k <= 6) {
// CHECK-NEXT:       [[X2:%.*]] = tix.read %x[[[T]] + %k]
// CHECK-NEXT:       [[MUL:%.*]] = tix.mul [[X2]], [[X]]
// CHECK-NEXT:       tix.yield [[MUL]]
// CHECK-NEXT:     }
// CHECK-NEXT:     tix.yield [[S]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[B]]
// CHECK-NEXT: }
// CHECK:      %f = tix.define "f" ([[I:%.*]], %j) : !tix.tensor<[9, 5], f64> {
// CHECK-NEXT:   [[T:%.*]] = tix.floordiv ([[I]]) by 2
// CHECK-NEXT:   [[B:%.*]] = tix.if ([[T]] >= 3) {
// CHECK-NEXT:     [[C:%.*]] = tix.constant 1.0
// CHECK-NEXT:     tix.yield [[C]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     [[F_SUM:%.*]] = tix.read %f_sum[[[I]]]
// CHECK-NEXT:     [[LOG:%.*]] = tix.log [[F_SUM]]
// CHECK-NEXT:     tix.yield [[LOG]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[B]]
// CHECK-NEXT: }

// -----

// The name of an argument is not taken.
tix.program @names (%f_sum = "f_sum" : !tix.tensor<[9], f64>) {
  %f = tix.define "f" () : !tix.tensor<[], f32> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 8) {
      %1 = tix.read %f_sum[%k]
      tix.yield %1
    }
    %2 = tix.log %0
    tix.yield %2
  }
  tix.return %f
}
// CHECK:      %f_sum_1 = tix.define "f_sum_1" () : !tix.tensor<[], f32> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%k) in (%k >= 0, %k <= 8) {
// CHECK-NEXT:     [[F_SUM:%.*]] = tix.read %f_sum[%k]
// CHECK-NEXT:     tix.yield [[F_SUM]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK-NEXT: }
// CHECK:      %f = tix.define "f" () : !tix.tensor<[], f32> {
// CHECK-NEXT:   [[F_SUM_1:%.*]] = tix.read %f_sum_1[]
// CHECK-NEXT:   [[LOG:%.*]] = tix.log [[F_SUM_1]]
// CHECK-NEXT:   tix.yield [[LOG]]
// CHECK-NEXT: }
