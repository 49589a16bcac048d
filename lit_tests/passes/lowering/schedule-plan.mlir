// A plan goes before the choice of tiles: blocks of two rows and one vector, of which the loop over
// terms carries the sums.
// RUN: tadc-opt %s -p 'schedule{tile=true plan="y[i, j]: rows i by 2, columns j by 16"}' | filecheck %s
// RUN: tadc-opt %s -p 'schedule{tile=true plan="y[i, j]: plain"}' | filecheck %s --check-prefix=PLAIN

tix.program @product (%x = "x" : !tix.tensor<[64, 300], f32>, %w = "w" : !tix.tensor<[300, 96], f32>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[64, 96], f32> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= 299) {
      %1 = tix.read %x[%i, %k]
      %2 = tix.read %w[%k, %j]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}
// CHECK:       func.func @y
// CHECK:         loops.parallel (%unit) to
// CHECK:           iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>) {
// CHECK-COUNT-2:     arith.addf {{.*}} : vector<16xf32>
// CHECK-NOT:         arith.addf
// PLAIN:       func.func @y
// PLAIN:         loops.parallel (%i, %j) to
// PLAIN-NOT:     vector
