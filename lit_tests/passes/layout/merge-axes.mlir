// Neighbouring indices that only count through memory become one.
// RUN: tadc-opt %s -p merge-axes | filecheck %s
// RUN: tadc-opt %s -p merge-axes{strided=true} | filecheck %s --check-prefix STRIDED

// A plane becomes a row wherever it stands; the index n is read alone.
tix.program @plane (%x = "x" : !tix.tensor<[N, H, W + 1], f32>, %b = "b" : !tix.tensor<[N], f32>) {
  %y = tix.define "y" (%n, %h, %w) : !tix.tensor<[N, H, W + 1], f32> {
    %0 = tix.read %x[%n, %h, %w]
    %1 = tix.read %b[%n]
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  tix.return %y
}

// All three become one.
tix.program @whole (%x = "x" : !tix.tensor<[N, 4, 5], f32>) {
  %y = tix.define "y" (%n, %h, %w) : !tix.tensor<[N, 4, 5], f32> {
    %0 = tix.read %x[%n, %h, %w]
    %1 = tix.exp %0
    tix.yield %1
  }
  tix.return %y
}

// So do the indices of a sum; other dimensions may lie around.
tix.program @sum (%x = "x" : !tix.tensor<[N, C, H, W], f32>) {
  %y = tix.define "y" (%c) : !tix.tensor<[C], f32> {
    %0 = tix.sum (%n, %h, %w) in (%n >= 0, N >= %n + 1, %h >= 0, H >= %h + 1, %w >= 0, W >= %w + 1) {
      %1 = tix.read %x[%n, %c, %h, %w]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}

// What is the same for all elements is read nowhere at h and w.
tix.program @fill (%g = "g" : !tix.tensor<[C], f32>, %x = "x" : !tix.tensor<[C, H, W], f32>) {
  %y = tix.define "y" (%c, %h, %w) : !tix.tensor<[C, H, W], f32> {
    %0 = tix.read %g[%c]
    tix.yield %0
  }
  tix.return %y
}

// Indices stay apart that are read in another order, in rows of another length, or at other places,
// and those that a condition or a number mentions.
tix.program @apart (%x = "x" : !tix.tensor<[N, M], f32>, %z = "z" : !tix.tensor<[N, M + 1], f32>,
                    %s = "s" : !tix.tensor<[N, N], f32>) {
  %transposed = tix.define "transposed" (%i, %j) : !tix.tensor<[M, N], f32> {
    %0 = tix.read %x[%j, %i]
    tix.yield %0
  }
  %cut = tix.define "cut" (%i, %j) : !tix.tensor<[N, M], f32> {
    %0 = tix.read %z[%i, %j]
    tix.yield %0
  }
  %moved = tix.define "moved" (%i, %j) : !tix.tensor<[N, M], f32> {
    %0 = tix.read %z[%i, %j + 1]
    tix.yield %0
  }
  %diagonal = tix.define "diagonal" (%i, %j) : !tix.tensor<[N, N], f32> {
    %0 = tix.if (%i == %j) {
      %1 = tix.read %s[%i, %j]
      tix.yield %1
    } else {
      %2 = tix.constant 0.0
      tix.yield %2
    }
    tix.yield %0
  }
  %numbered = tix.define "numbered" (%i, %j) : !tix.tensor<[N, M], f32> {
    %0 = tix.read %x[%i, %j]
    %1 = tix.index_to_real (%j)
    %2 = tix.mul %0, %1
    tix.yield %2
  }
  %triangle = tix.define "triangle" () : !tix.tensor<[], f32> {
    %0 = tix.sum (%i, %j) in (%i >= 0, N >= %i + 1, %j >= 0, %i >= %j) {
      %1 = tix.read %s[%i, %j]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %transposed, %cut, %moved, %diagonal, %numbered, %triangle
}

// A difference of sizes counts as 0 where it is negative, which its product with another might not.
tix.program @difference (%x = "x" : !tix.tensor<[N - 1, M - 1], f32>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[N - 1, M - 1], f32> {
    %0 = tix.read %x[%i, %j]
    tix.yield %0
  }
  tix.return %y
}

// CHECK-LABEL: tix.program @plane
// CHECK:         tix.define "y" (%n, %hw) : !tix.tensor<[N, H, W + 1], f32> as [N, H + H * W] {
// CHECK-NEXT:      [[X:%.*]] = tix.read %x[%n, %hw] as [N, H + H * W]
// CHECK-NEXT:      [[B:%.*]] = tix.read %b[%n]
// CHECK-NEXT:      tix.mul [[X]], [[B]]

// CHECK-LABEL: tix.program @whole
// CHECK:         tix.define "y" (%nhw) : !tix.tensor<[N, 4, 5], f32> as [20 * N] {
// CHECK-NEXT:      tix.read %x[%nhw] as [20 * N]

// CHECK-LABEL: tix.program @sum
// CHECK:         tix.define "y" (%c{{.*}}) : !tix.tensor<[C], f32> {
// CHECK-NEXT:      tix.sum (%n{{.*}}, %hw{{.*}}) in (%n{{.*}} >= 0, %n{{.*}} + 1 <= N, %hw{{.*}} >= 0, %hw{{.*}} + 1 <= H * W) {
// CHECK-NEXT:        tix.read %x[%n{{.*}}, %c{{.*}}, %hw{{.*}}] as [N, C, H * W]

// CHECK-LABEL: tix.program @fill
// CHECK:         tix.define "y" (%c{{.*}}, %hw{{.*}}) : !tix.tensor<[C, H, W], f32> as [C, H * W] {
// CHECK-NEXT:      tix.read %g[%c{{.*}}]

// CHECK-LABEL: tix.program @apart
// CHECK-NOT:     {{\] as \[}}
// CHECK-LABEL: tix.program @difference
// CHECK-NOT:     {{\] as \[}}

// STRIDED-LABEL: tix.program @sum
// STRIDED-NOT:   {{\] as \[}}
// STRIDED-LABEL: tix.program @fill
// STRIDED:       tix.define "y" (%c{{.*}}, %hw{{.*}}) : !tix.tensor<[C, H, W], f32> as [C, H * W] {
