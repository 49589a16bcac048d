// A reduction of many terms to few elements is cut into pieces.
// RUN: tadc-opt %s -p 'cut-reductions{sizes="I=512","J=512"}' | filecheck %s

tix.program @loss (%x = "x" : !tix.tensor<[I, J], f32>) {
  %y = tix.define "y" () : !tix.tensor<[], f32> {
    %0 = tix.sum (%i, %j) in (%i >= 0, %i + 1 <= I, %j >= 0, %j + 1 <= J) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    %1 = tix.sqrt %0
    tix.yield %1
  }
  tix.return %y
}

// An element for each row: threads share these.
tix.program @rows (%x = "x" : !tix.tensor<[I, J], f32>) {
  %y = tix.define "y" (%i) : !tix.tensor<[I], f32> {
    %0 = tix.max (%j) in (%j >= 0, %j + 1 <= J) {
      %1 = tix.read %x[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// All elements read rows again: those of a piece are near, for all elements of the result.
tix.program @gram (%x = "x" : !tix.tensor<[I, 16, J], f32>) {
  %y = tix.define "y" (%o, %c) : !tix.tensor<[16, 16], f32> {
    %0 = tix.sum (%i, %j) in (%i >= 0, %i + 1 <= I, %j >= 0, %j + 1 <= J) {
      %1 = tix.read %x[%i, %o, %j]
      %2 = tix.read %x[%i, %c, %j]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}

// The rows of z are read by one sum alone: pieces are boxes, for which a band of z is computed.
tix.program @taps (%x = "x" : !tix.tensor<[I + 4, J], f32>, %v = "v" : !tix.tensor<[I, J], f32>) {
  %z = tix.define "z" (%i, %j) : !tix.tensor<[I + 4, J], f32> {
    %0 = tix.read %x[%i, %j]
    %1 = tix.exp %0
    tix.yield %1
  }
  %u = tix.define "u" (%i) : !tix.tensor<[I], f32> {
    %0 = tix.read %v[%i, 0]
    tix.yield %0
  }
  %y = tix.define "y" (%s) : !tix.tensor<[5], f32> {
    %0 = tix.sum (%i, %j) in (%i >= 0, %i + 1 <= I, %j >= 0, %j + 1 <= J) {
      %1 = tix.read %v[%i, %j]
      %2 = tix.read %z[%i + %s, %j]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y, %u
}

// CHECK-LABEL: tix.program @loss sizes (#tix.size<P = min((I + 31) floordiv 32)>)
// CHECK:         %y_pieces = tix.define "y_pieces" (%p) : !tix.tensor<[P], f32> {
// CHECK-NEXT:      [[S:%.*]] = tix.sum (%i, %j) in (%i >= 32 * %p, 32 * %p + 31 >= %i, %i + 1 <= I, %j >= 0, %j + 1 <= J) {
// CHECK-NEXT:        [[X:%.*]] = tix.read %x[%i, %j]
// CHECK-NEXT:        tix.yield [[X]]
// CHECK-NEXT:      }
// CHECK-NEXT:      tix.yield [[S]]
// CHECK:         %y = tix.define "y" ()
// CHECK-NEXT:      [[T:%.*]] = tix.sum (%p_1) in (%p_1 >= 0, %p_1 + 1 <= P) {
// CHECK-NEXT:        [[Y:%.*]] = tix.read %y_pieces[%p_1]
// CHECK-NEXT:        tix.yield [[Y]]
// CHECK-NEXT:      }
// CHECK-NEXT:      tix.sqrt [[T]]
// CHECK-LABEL: tix.program @rows
// CHECK-NOT:     _pieces
// CHECK-LABEL: tix.program @gram sizes (#tix.size<P = min((I + 15) floordiv 16)>)
// CHECK:         %y_pieces = tix.define "y_pieces" (%p, %o, %c) : !tix.tensor<[P, 16, 16], f32> {
// CHECK-NEXT:      [[S:%.*]] = tix.sum (%i, %j) in (%i >= 16 * %p, 16 * %p + 15 >= %i, %i + 1 <= I, %j >= 0, %j + 1 <= J) {
// CHECK:         %y = tix.define "y" (%o_1, %c_1)
// CHECK-NEXT:      [[T:%.*]] = tix.sum (%p_1) in (%p_1 >= 0, %p_1 + 1 <= P) {
// CHECK-NEXT:        [[Y:%.*]] = tix.read %y_pieces[%p_1, %o_1, %c_1]
// CHECK-LABEL: tix.program @taps sizes (#tix.size<P = min((I + 31) floordiv 32)>, #tix.size<P_1 = min((J + 511) floordiv 512)>)
// CHECK:         %u = tix.define "u"
// CHECK:         %z = tix.define "z"
// CHECK:         %y_pieces = tix.define "y_pieces" (%s, %p, %p_1) : !tix.tensor<[5, P, P_1], f32> {
// CHECK-NEXT:      [[S:%.*]] = tix.sum (%i_2, %j_1) in (%i_2 >= 32 * %p, 32 * %p + 31 >= %i_2, %j_1 >= 512 * %p_1, 512 * %p_1 + 511 >= %j_1, %i_2 + 1 <= I, %j_1 + 1 <= J) {
// CHECK:         %y = tix.define "y" (%s_1)
// CHECK-NEXT:      [[T:%.*]] = tix.sum (%p_2, %p_3) in (%p_2 >= 0, %p_2 + 1 <= P, %p_3 >= 0, %p_3 + 1 <= P_1) {
// CHECK-NEXT:        [[Y:%.*]] = tix.read %y_pieces[%s_1, %p_2, %p_3]
