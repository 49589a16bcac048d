// Columns are summed by 32 threads each, which take the rows in turns.
// RUN: tadc-opt %s -p 'spread-reductions{least="I=1024","J=512" most="I=2047","J=1023"}' | filecheck %s

tix.program @columns (%x = "x" : !tix.tensor<[I, J], f32>) {
  %y = tix.define "y" (%j) : !tix.tensor<[J], f32> {
    %0 = tix.sum (%i) in (%i >= 0, %i + 1 <= I) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK:      %y_pieces = tix.define "y_pieces" (%p, %j) : !tix.tensor<[32, J], f32> {
// CHECK-NEXT:   [[S:%.*]] = tix.sum (%i) in (%i >= 0, %p + 32 * %i + 1 <= I) {
// CHECK-NEXT:     [[X:%.*]] = tix.read %x[32 * %i + %p, %j]
// CHECK-NEXT:     tix.yield [[X]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[S]]
// CHECK:      %y = tix.define "y" (%j_1)
// CHECK-NEXT:   [[T:%.*]] = tix.sum (%p_1) in (%p_1 >= 0, %p_1 <= 31) {
// CHECK-NEXT:     [[Y:%.*]] = tix.read %y_pieces[%p_1, %j_1]
// CHECK-NEXT:     tix.yield [[Y]]
// CHECK-NEXT:   }
// CHECK-NEXT:   tix.yield [[T]]
