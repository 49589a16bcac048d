// The threads of a warp follow each other by j: they read rows of a transpose.
// RUN: tadc-opt %s -p 'transpose-reads{least="I=512","J=512","K=512" most="I=1023","J=1023","K=1023"}' | filecheck %s

tix.program @product (%a = "a" : !tix.tensor<[I, K], f32>, %b = "b" : !tix.tensor<[J, K], f32>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[I, J], f32> {
    %0 = tix.sum (%k) in (%k >= 0, %k + 1 <= K) {
      %1 = tix.read %a[%i, %k]
      %2 = tix.read %b[%j, %k]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}

// CHECK:      %b_turned = tix.define "b_turned" ([[I:%.*]], [[J:%.*]]) : !tix.tensor<[K, J], f32> {
// CHECK-NEXT:   [[B:%.*]] = tix.read %b[[[J]], [[I]]]
// CHECK-NEXT:   tix.yield [[B]]
// CHECK:      %y = tix.define "y" (%i, %j)
// CHECK-NEXT:   {{%.*}} = tix.sum (%k)
// CHECK-NEXT:     {{%.*}} = tix.read %a[%i, %k]
// CHECK-NEXT:     {{%.*}} = tix.read %b_turned[%k, %j]
