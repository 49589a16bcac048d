// Index sets become loops as narrow as they are, or, for code in tiles, boxes with tests inside.
// RUN: tadc-opt %s -p shape-loops | filecheck %s
// RUN: tadc-opt %s -p 'shape-loops{tile=true}' | filecheck %s --check-prefix TILE
// RUN: tadc-opt %s -p 'shape-loops{tile=true sizes="N=500","M=500"}' | filecheck %s --check-prefix TILE
// RUN: not tadc-opt %s -p 'shape-loops{tile=true sizes="N"}' 2>&1 | filecheck %s --check-prefix SIZE

// A window at the border of a tensor becomes a box with a test inside, where neighbours read apart.
tix.program @strided (%x = "x" : !tix.tensor<[M], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k >= -3*%i + 1, %k <= 2, M >= 3*%i + %k) {
      %1 = tix.read %x[3*%i + %k - 1]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// Else it has a tile with masks at both ends.
tix.program @window (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k >= -%i + 1, %k <= 2, N >= %i + %k) {
      %1 = tix.read %x[%i + %k - 1]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// Without tiles a long sum stays as narrow as it is; in tiles of rows and columns it becomes a box.
tix.program @long (%x = "x" : !tix.tensor<[N, N], f64>, %w = "w" : !tix.tensor<[N, M], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, M], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= %i) {
      %1 = tix.read %x[%i, %k]
      %2 = tix.read %w[%k, %j]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}

// A short window beside a long sum has a box of its own.
tix.program @half (%x = "x" : !tix.tensor<[N, M], f64>, %w = "w" : !tix.tensor<[N, 3], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, M], f64> {
    %0 = tix.sum (%c, %u) in (%c >= 0, %i >= %c, %i <= %c + 40, %u >= 0, %u + %j >= 1, %u <= 2, %u + %j <= M) {
      %1 = tix.read %x[%c, %j + %u - 1]
      %2 = tix.read %w[%c, %u]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}

// A condition in a sum becomes its bounds.
tix.program @condition (%x = "x" : !tix.tensor<[N], f64>, %n = "n" : !tix.tensor<[M], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[M], f64> {
    %0 = tix.sum (%k) in (%k >= 0, N >= %k + 1) {
      %1 = tix.if (%k >= %i) {
        %2 = tix.read %x[%k]
        tix.yield %2
      } else {
        %3 = tix.constant 0.0
        tix.yield %3
      }
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// A band is not made a square.
tix.program @band (%x = "x" : !tix.tensor<[N, N], f64>, %w = "w" : !tix.tensor<[N, M], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, M], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k >= %i - 40, %k <= %i + 40, N >= %k + 1) {
      %1 = tix.read %x[%i, %k]
      %2 = tix.read %w[%k, %j]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}

// Nor is a short one, where elements side by side have the same bounds.
tix.program @steps (%x = "x" : !tix.tensor<[240, M], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[240, M], f64> {
    %0 = tix.sum (%k) in (%k >= 0, 239*%k + 239 >= 8*%i, 8*%i >= 239*%k, %k <= 7) {
      %1 = tix.read %x[8*%i - 239*%k, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// A condition around a sum that has a tile otherwise becomes one of its terms.
tix.program @guarded (%x = "x" : !tix.tensor<[N, K], f64>, %w = "w" : !tix.tensor<[K, M], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, M + 1], f64> {
    %0 = tix.if (M >= %j + 1) {
      %1 = tix.sum (%k) in (%k >= 0, K >= %k + 1) {
        %2 = tix.read %x[%i, %k]
        %3 = tix.read %w[%k, %j]
        %4 = tix.mul %2, %3
        tix.yield %4
      }
      tix.yield %1
    } else {
      %5 = tix.constant 0.0
      tix.yield %5
    }
    tix.yield %0
  }
  tix.return %y
}

// What is made of the sum stays under the condition.
tix.program @scaled (%x = "x" : !tix.tensor<[N, K], f64>, %w = "w" : !tix.tensor<[K, M], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, M + 1], f64> {
    %0 = tix.if (M >= %j + 1) {
      %1 = tix.sum (%k) in (%k >= 0, K >= %k + 1) {
        %2 = tix.read %x[%i, %k]
        %3 = tix.read %w[%k, %j]
        %4 = tix.mul %2, %3
        tix.yield %4
      }
      %5 = tix.exp %1
      tix.yield %5
    } else {
      %6 = tix.constant 0.0
      tix.yield %6
    }
    tix.yield %0
  }
  tix.return %y
}

tix.program @triangle (%x = "x" : !tix.tensor<[N, K], f64>, %w = "w" : !tix.tensor<[N, K], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, N], f64> {
    %0 = tix.if (%i >= %j) {
      %1 = tix.sum (%k) in (%k >= 0, %k + 1 <= K) {
        %2 = tix.read %x[%i, %k]
        %3 = tix.read %w[%j, %k]
        %4 = tix.mul %2, %3
        tix.yield %4
      }
      tix.yield %1
    } else {
      %5 = tix.constant 0.0
      tix.yield %5
    }
    tix.yield %0
  }
  tix.return %y
}

// SIZE: a size is written as N=512, not 'N'

// CHECK-LABEL: tix.program @strided
// CHECK:         tix.sum (%k) in (%k >= 0, 3 * %i + %k >= 1, %k <= 2, 3 * %i + %k <= M) {
// TILE-LABEL:  tix.program @strided
// TILE:          tix.sum (%k) in (%k >= 0, %k <= 2) {
// TILE-NEXT:       [[X:%.*]] = tix.if (3 * %i + %k >= 1, 3 * %i + %k <= M) {
// TILE-NEXT:         [[READ:%.*]] = tix.read %x[3 * %i + %k - 1]
// TILE-NEXT:         tix.yield [[READ]]
// TILE:            [[V:%.*]] = tix.if (3 * %i + %k >= 1, 3 * %i + %k <= M) {
// TILE-NEXT:         tix.yield [[X]]
// TILE:            tix.yield [[V]]

// CHECK-LABEL: tix.program @window
// CHECK:         tix.sum (%k) in (%k >= 0, %i + %k >= 1, %k <= 2, %i + %k <= N) {
// CHECK-NEXT:      [[X:%.*]] = tix.read %x[%i + %k - 1]
// CHECK-NEXT:      tix.yield [[X]]
// TILE-LABEL:  tix.program @window
// TILE:          tix.sum (%k) in (%k >= 0, %k <= 2) {

// CHECK-LABEL: tix.program @long
// CHECK:         tix.sum (%k) in (%k >= 0, %i >= %k) {
// TILE-LABEL:  tix.program @long
// TILE:          tix.sum (%k) in (%k >= 0, %k + 1 <= N) {
// TILE:            [[P:%.*]] = tix.if (%i >= %k) {
// TILE-NEXT:         [[M:%.*]] = tix.mul
// TILE-NEXT:         tix.yield [[M]]
// TILE:            tix.yield [[P]]

// TILE-LABEL:  tix.program @half
// TILE:          tix.sum (%c, %u) in (%c >= 0, %i >= %c, %c + 40 >= %i, %u >= 0, %u <= 2) {
// TILE:            tix.if (%j + %u >= 1, %j + %u <= M) {

// CHECK-LABEL: tix.program @condition
// CHECK:         tix.sum (%k) in (%k >= %i, %k + 1 <= N) {
// CHECK-NEXT:      [[X:%.*]] = tix.read %x[%k]
// CHECK-NEXT:      tix.yield [[X]]
// TILE-LABEL:  tix.program @condition
// TILE:          tix.sum (%k) in (%k >= %i, %k + 1 <= N) {

// CHECK-LABEL: tix.program @band
// CHECK:         tix.sum (%k) in (%k >= 0, %k + 40 >= %i, %i + 40 >= %k, %k + 1 <= N) {
// TILE-LABEL:  tix.program @band
// TILE:          tix.sum (%k) in (%k >= 0, %k + 40 >= %i, %i + 40 >= %k, %k + 1 <= N) {

// CHECK-LABEL: tix.program @steps
// CHECK:         tix.sum (%k) in (%k >= 0, 239 * %k + 239 >= 8 * %i, 8 * %i >= 239 * %k, %k <= 7) {
// TILE-LABEL:  tix.program @steps
// TILE:          tix.sum (%k) in (%k >= 0, 239 * %k + 239 >= 8 * %i, 8 * %i >= 239 * %k, %k <= 7) {

// CHECK-LABEL: tix.program @guarded
// CHECK:           tix.if (%j + 1 <= M) {
// CHECK-NEXT:        tix.sum (%k) in (%k >= 0, %k + 1 <= K) {
// TILE-LABEL:  tix.program @guarded
// TILE:            tix.sum (%k) in (%k >= 0, %k + 1 <= K) {
// TILE-NEXT:         [[X:%.*]] = tix.read %x[%i, %k]
// TILE-NEXT:         [[W:%.*]] = tix.if (%j + 1 <= M) {
// TILE-NEXT:           [[R:%.*]] = tix.read %w[%k, %j]
// TILE:              tix.mul [[X]], [[W]]
// TILE:            tix.if (%j + 1 <= M) {
// TILE-NEXT:         tix.yield

// CHECK-LABEL: tix.program @scaled
// CHECK:           tix.if (%j + 1 <= M) {
// CHECK-NEXT:        tix.sum (%k) in (%k >= 0, %k + 1 <= K) {
// TILE-LABEL:  tix.program @scaled
// TILE:            [[S:%.*]] = tix.sum (%k) in (%k >= 0, %k + 1 <= K) {
// TILE:              [[W:%.*]] = tix.if (%j + 1 <= M) {
// TILE:              tix.mul
// TILE:            tix.if (%j + 1 <= M) {
// TILE-NEXT:         [[E:%.*]] = tix.exp [[S]]
// TILE-NEXT:         tix.yield [[E]]

// All that the sum reads is there anyway: its value is tested, once.
// TILE-LABEL:  tix.program @triangle
// TILE:            [[S:%.*]] = tix.sum (%k) in (%k >= 0, %k + 1 <= K) {
// TILE-NEXT:         tix.read
// TILE-NEXT:         tix.read
// TILE-NEXT:         tix.mul
// TILE:            tix.if (%i >= %j) {
// TILE-NEXT:         tix.yield [[S]]
