// Tiles of vectors: sums of a block in registers, carried by a loop. A vector of 64 numbers is four
// registers of AVX-512, or eight of AVX2.
// RUN: tadc-opt %s -t llvm | filecheck %s

// c[i, j] = sum[k](a[i, k] * b[k, j]), four rows and 64 columns at a time.
func.func @c(%c: memref<?xf32>, %a: memref<?xf32>, %b: memref<?xf32>, %M: index, %N: index, %K: index)
    attributes {buffers = ["c", "a", "b"], sizes = ["M", "N", "K"]} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %rows = arith.constant 4 : index
  %columns = arith.constant 64 : index
  %m = arith.floordivsi %M, %rows : index
  %n = arith.floordivsi %N, %columns : index
  %none = arith.constant dense<0.0> : vector<64xf32>
  loops.parallel (%u, %v) to (%m, %n) {
    %j = arith.muli %v, %columns : index
    %i0 = arith.muli %u, %rows : index
    %i1 = arith.addi %i0, %one : index
    %i2 = arith.addi %i1, %one : index
    %i3 = arith.addi %i2, %one : index
    %a0 = arith.muli %i0, %K : index
    %a1 = arith.muli %i1, %K : index
    %a2 = arith.muli %i2, %K : index
    %a3 = arith.muli %i3, %K : index
    %s:4 = scf.for %k = %zero to %K step %one
        iter_args(%s0 = %none, %s1 = %none, %s2 = %none, %s3 = %none)
        -> (vector<64xf32>, vector<64xf32>, vector<64xf32>, vector<64xf32>) {
      %bk = arith.muli %k, %N : index
      %bkj = arith.addi %bk, %j : index
      %y = vector.load %b[%bkj] : memref<?xf32>, vector<64xf32>
      %a0k = arith.addi %a0, %k : index
      %a1k = arith.addi %a1, %k : index
      %a2k = arith.addi %a2, %k : index
      %a3k = arith.addi %a3, %k : index
      %e0 = memref.load %a[%a0k] : memref<?xf32>
      %e1 = memref.load %a[%a1k] : memref<?xf32>
      %e2 = memref.load %a[%a2k] : memref<?xf32>
      %e3 = memref.load %a[%a3k] : memref<?xf32>
      %x0 = vector.broadcast %e0 : f32 to vector<64xf32>
      %x1 = vector.broadcast %e1 : f32 to vector<64xf32>
      %x2 = vector.broadcast %e2 : f32 to vector<64xf32>
      %x3 = vector.broadcast %e3 : f32 to vector<64xf32>
      %t0 = math.fma %x0, %y, %s0 : vector<64xf32>
      %t1 = math.fma %x1, %y, %s1 : vector<64xf32>
      %t2 = math.fma %x2, %y, %s2 : vector<64xf32>
      %t3 = math.fma %x3, %y, %s3 : vector<64xf32>
      scf.yield %t0, %t1, %t2, %t3 : vector<64xf32>, vector<64xf32>, vector<64xf32>, vector<64xf32>
    }
    %c0 = arith.muli %i0, %N : index
    %c1 = arith.muli %i1, %N : index
    %c2 = arith.muli %i2, %N : index
    %c3 = arith.muli %i3, %N : index
    %c0j = arith.addi %c0, %j : index
    %c1j = arith.addi %c1, %j : index
    %c2j = arith.addi %c2, %j : index
    %c3j = arith.addi %c3, %j : index
    vector.store %s#0, %c[%c0j] : memref<?xf32>, vector<64xf32>
    vector.store %s#1, %c[%c1j] : memref<?xf32>, vector<64xf32>
    vector.store %s#2, %c[%c2j] : memref<?xf32>, vector<64xf32>
    vector.store %s#3, %c[%c3j] : memref<?xf32>, vector<64xf32>
  }
  func.return
}

// CHECK-LABEL: define void @c.entry(
// CHECK:       for.k:
// CHECK-NEXT:    %k = phi i64 [ 0, {{.*}} ], [ %k.next, %for.k ]
// CHECK-NEXT:    %s0 = phi <64 x float> [ splat (float 0.0), {{.*}} ], [ %t0, %for.k ]
// CHECK-NEXT:    %s1 = phi <64 x float> [ splat (float 0.0), {{.*}} ], [ %t1, %for.k ]
// CHECK-NEXT:    %s2 = phi <64 x float> [ splat (float 0.0), {{.*}} ], [ %t2, %for.k ]
// CHECK-NEXT:    %s3 = phi <64 x float> [ splat (float 0.0), {{.*}} ], [ %t3, %for.k ]
// CHECK:         %y = load <64 x float>, ptr {{.*}}, align 4
// CHECK:         %t3 = call <64 x float> @llvm.fma.v64f32(<64 x float> %x3, <64 x float> %y, <64 x float> %s3)
// CHECK:       done.k:
// CHECK-COUNT-4: phi <64 x float>
// CHECK-COUNT-4: store <64 x float>

// y[h, v, o] = sum[s < 3, t < 3, c](x[h + s, v + t, c] * w[s, t, c, o]) of O = 32: lanes along o, four
// columns v at a time, whose windows have six columns: each element of x is read once for a row s.
func.func @y(%y: memref<?xf32>, %x: memref<?xf32>, %w: memref<?xf32>, %H: index, %W: index, %C: index)
    attributes {buffers = ["y", "x", "w"], sizes = ["H", "W", "C"]} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %three = arith.constant 3 : index
  %columns = arith.constant 4 : index
  %O = arith.constant 32 : index
  %X = arith.addi %W, %two : index
  %blocks = arith.floordivsi %W, %columns : index
  %none = arith.constant dense<0.0> : vector<32xf32>
  loops.parallel (%h, %u) to (%H, %blocks) {
    %v = arith.muli %u, %columns : index
    %sums:4 = scf.for %s = %zero to %three step %one
        iter_args(%s0 = %none, %s1 = %none, %s2 = %none, %s3 = %none)
        -> (vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>) {
      %hs = arith.addi %h, %s : index
      %row = arith.muli %hs, %X : index
      %v0 = arith.addi %row, %v : index
      %w0 = arith.muli %s, %three : index
      %partial:4 = scf.for %c = %zero to %C step %one
          iter_args(%p0 = %s0, %p1 = %s1, %p2 = %s2, %p3 = %s3)
          -> (vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>) {
        %vc = arith.muli %v0, %C : index
        %x0 = arith.addi %vc, %c : index
        %x1 = arith.addi %x0, %C : index
        %x2 = arith.addi %x1, %C : index
        %x3 = arith.addi %x2, %C : index
        %x4 = arith.addi %x3, %C : index
        %x5 = arith.addi %x4, %C : index
        %e0 = memref.load %x[%x0] : memref<?xf32>
        %e1 = memref.load %x[%x1] : memref<?xf32>
        %e2 = memref.load %x[%x2] : memref<?xf32>
        %e3 = memref.load %x[%x3] : memref<?xf32>
        %e4 = memref.load %x[%x4] : memref<?xf32>
        %e5 = memref.load %x[%x5] : memref<?xf32>
        %b0 = vector.broadcast %e0 : f32 to vector<32xf32>
        %b1 = vector.broadcast %e1 : f32 to vector<32xf32>
        %b2 = vector.broadcast %e2 : f32 to vector<32xf32>
        %b3 = vector.broadcast %e3 : f32 to vector<32xf32>
        %b4 = vector.broadcast %e4 : f32 to vector<32xf32>
        %b5 = vector.broadcast %e5 : f32 to vector<32xf32>
        %wc = arith.muli %w0, %C : index
        %wat0 = arith.addi %wc, %c : index
        %wat1 = arith.addi %wat0, %C : index
        %wat2 = arith.addi %wat1, %C : index
        %wo0 = arith.muli %wat0, %O : index
        %wo1 = arith.muli %wat1, %O : index
        %wo2 = arith.muli %wat2, %O : index
        %f0 = vector.load %w[%wo0] : memref<?xf32>, vector<32xf32>
        %f1 = vector.load %w[%wo1] : memref<?xf32>, vector<32xf32>
        %f2 = vector.load %w[%wo2] : memref<?xf32>, vector<32xf32>
        %q0 = math.fma %b0, %f0, %p0 : vector<32xf32>
        %q1 = math.fma %b1, %f0, %p1 : vector<32xf32>
        %q2 = math.fma %b2, %f0, %p2 : vector<32xf32>
        %q3 = math.fma %b3, %f0, %p3 : vector<32xf32>
        %r0 = math.fma %b1, %f1, %q0 : vector<32xf32>
        %r1 = math.fma %b2, %f1, %q1 : vector<32xf32>
        %r2 = math.fma %b3, %f1, %q2 : vector<32xf32>
        %r3 = math.fma %b4, %f1, %q3 : vector<32xf32>
        %t0 = math.fma %b2, %f2, %r0 : vector<32xf32>
        %t1 = math.fma %b3, %f2, %r1 : vector<32xf32>
        %t2 = math.fma %b4, %f2, %r2 : vector<32xf32>
        %t3 = math.fma %b5, %f2, %r3 : vector<32xf32>
        scf.yield %t0, %t1, %t2, %t3
            : vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>
      }
      scf.yield %partial#0, %partial#1, %partial#2, %partial#3
          : vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>
    }
    %yrow = arith.muli %h, %W : index
    %y0 = arith.addi %yrow, %v : index
    %at0 = arith.muli %y0, %O : index
    %at1 = arith.addi %at0, %O : index
    %at2 = arith.addi %at1, %O : index
    %at3 = arith.addi %at2, %O : index
    vector.store %sums#0, %y[%at0] : memref<?xf32>, vector<32xf32>
    vector.store %sums#1, %y[%at1] : memref<?xf32>, vector<32xf32>
    vector.store %sums#2, %y[%at2] : memref<?xf32>, vector<32xf32>
    vector.store %sums#3, %y[%at3] : memref<?xf32>, vector<32xf32>
  }
  func.return
}

// Both loops carry the sums; the inner one begins with those of the outer one.
// CHECK-LABEL: define void @y.entry(
// CHECK:       for.s:
// CHECK:         %s0 = phi <32 x float> [ splat (float 0.0), {{.*}} ], [ [[NEXT:%.*]], %test.s ]
// CHECK:       for.c:
// CHECK:         %p0 = phi <32 x float> [ %s0, %enter.c ], [ %t0, %for.c ]
// CHECK-COUNT-12: call <32 x float> @llvm.fma.v32f32
// CHECK:       done.c:
// CHECK-NEXT:    [[NEXT]] = phi <32 x float> [ %s0, %for.s ], [ %t0, %for.c ]
// CHECK:       done.s:
// CHECK-COUNT-4: store <32 x float>
