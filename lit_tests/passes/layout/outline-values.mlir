// Dear values that many elements or terms have in common become tensors.
// RUN: tadc-opt %s -p 'outline-values{sizes="N=512"}' | filecheck %s

// The root is the same for all rows; what is subtracted is not dear.
tix.program @columns (%x = "x" : !tix.tensor<[N, 512], f32>, %v = "v" : !tix.tensor<[512], f32>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, 512], f32> {
    %0 = tix.read %x[%i, %j]
    %1 = tix.read %v[%j]
    %2 = tix.sub %0, %1
    %3 = tix.sqrt %1
    %4 = tix.div %2, %3
    tix.yield %4
  }
  tix.return %y
}

// CHECK-LABEL: @columns
// CHECK-NEXT:    %y_value = tix.define "y_value" (%j) : !tix.tensor<[512], f32> {
// CHECK-NEXT:      [[V:%.*]] = tix.read %v[%j]
// CHECK-NEXT:      [[S:%.*]] = tix.sqrt [[V]]
// CHECK-NEXT:      tix.yield [[S]]
// CHECK:         %y = tix.define "y" (%i, %j_1) : !tix.tensor<[N, 512], f32> {
// CHECK-NEXT:      tix.read %x[%i, %j_1]
// CHECK-NEXT:      tix.read %v[%j_1]
// CHECK-NEXT:      tix.sub
// CHECK-NEXT:      tix.read %y_value[%j_1]
// CHECK-NEXT:      tix.div

// Each element asks for the logarithms of all terms.
tix.program @terms (%a = "a" : !tix.tensor<[N, 512], f32>, %b = "b" : !tix.tensor<[512], f32>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f32> {
    %0 = tix.max (%j) in (%j >= 0, %j <= 511) {
      %1 = tix.read %a[%i, %j]
      %2 = tix.read %b[%j]
      %3 = tix.log %2
      %4 = tix.add %1, %3
      tix.yield %4
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK-LABEL: @terms
// CHECK-NEXT:    tix.define "y_value" (%j) : !tix.tensor<[512], f32> {
// CHECK:         tix.define "y" (%i)
// CHECK:           tix.max (%j_1)
// CHECK-NEXT:        tix.read %a[%i, %j_1]
// CHECK-NEXT:        tix.read %y_value[%j_1]
// CHECK-NEXT:        tix.add

// A loop along a row computes ahead what is the same for all of it.
tix.program @rows (%x = "x" : !tix.tensor<[N, 512], f32>, %v = "v" : !tix.tensor<[N], f32>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N, 512], f32> {
    %0 = tix.read %x[%i, %j]
    %1 = tix.read %v[%i]
    %2 = tix.exp %1
    %3 = tix.mul %0, %2
    tix.yield %3
  }
  tix.return %y
}

// CHECK-LABEL: @rows
// CHECK-NEXT:    tix.define "y"
