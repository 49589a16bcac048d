// What vectors read is copied to where it lies side by side.
// RUN: tadc-opt %s -p 'pack-reads{sizes="N=64","O=128","C=500"}' | filecheck %s

// Vectors run along o, whose elements of w lie apart.
tix.program @packed (%x = "x" : !tix.tensor<[N, C, 3], f32>, %w = "w" : !tix.tensor<[O, C, 3], f32>) {
  %y = tix.define "y" (%n, %o) : !tix.tensor<[N, O], f32> {
    %0 = tix.sum (%c, %k) in (%c >= 0, C >= %c + 1, %k >= 0, 2 >= %k) {
      %1 = tix.read %x[%n, %c, %k]
      %2 = tix.read %w[%o, %c, %k]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}

// They lie side by side: nothing is copied.
tix.program @beside (%x = "x" : !tix.tensor<[N, C], f32>, %w = "w" : !tix.tensor<[C, O], f32>) {
  %y = tix.define "y" (%n, %o) : !tix.tensor<[N, O], f32> {
    %0 = tix.sum (%c) in (%c >= 0, C >= %c + 1) {
      %1 = tix.read %x[%n, %c]
      %2 = tix.read %w[%c, %o]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}

// Terms are written out, and vectors run along o once its elements lie side by side.
tix.program @short (%x = "x" : !tix.tensor<[N, 6], f32>, %w = "w" : !tix.tensor<[O, 6], f32>) {
  %y = tix.define "y" (%n, %o) : !tix.tensor<[N, O], f32> {
    %0 = tix.sum (%k) in (%k >= 0, 5 >= %k) {
      %1 = tix.read %x[%n, %k]
      %2 = tix.read %w[%o, %k]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}

// Six rows i share a line of x for each term c: the next rows would load it again.
tix.program @rows (%x = "x" : !tix.tensor<[C, 1024], f32>, %w = "w" : !tix.tensor<[C, 1024], f32>) {
  %y = tix.define "y" (%n, %o) : !tix.tensor<[1024, 1024], f32> {
    %0 = tix.sum (%c) in (%c >= 0, C >= %c + 1) {
      %1 = tix.read %x[%c, %n]
      %2 = tix.read %w[%c, %o]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}

// Of two matrices that a sum reads across each other, one is read along its rows: the other is copied.
tix.program @trace (%a = "a" : !tix.tensor<[1024, 1024], f32>, %b = "b" : !tix.tensor<[1024, 1024], f32>) {
  %t = tix.define "t" () : !tix.tensor<[], f32> {
    %0 = tix.sum (%i, %j) in (%i >= 0, 1023 >= %i, %j >= 0, 1023 >= %j) {
      %1 = tix.read %a[%i, %j]
      %2 = tix.read %b[%j, %i]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %t
}

// One matrix alone is read along its rows, as soon as loops go so.
tix.program @alone (%a = "a" : !tix.tensor<[1024], f32>, %b = "b" : !tix.tensor<[1024, 1024], f32>) {
  %t = tix.define "t" () : !tix.tensor<[], f32> {
    %0 = tix.sum (%i, %j) in (%i >= 0, 1023 >= %i, %j >= 0, 1023 >= %j) {
      %1 = tix.read %a[%j]
      %2 = tix.read %b[%j, %i]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %t
}

// Rows c of f, and terms d of x, are a multiple of 4 KB apart: in a copy these rows lie side by side.
tix.program @places (%x = "x" : !tix.tensor<[33, 64, 256], f32>, %f = "f" : !tix.tensor<[32, 64, 256], f32>) {
  %z = tix.define "z" (%c, %h, %p) : !tix.tensor<[32, 64, 200], f32> {
    %0 = tix.sum (%d) in (%d >= 0, 32 >= %d) {
      %1 = tix.read %x[%d, %h, %p - %d + 32]
      %2 = tix.read %f[%c, %h, %p - %d + 32]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %z
}

// CHECK-LABEL: tix.program @packed
// CHECK-NEXT:    %w_packed = tix.define "w_packed" (%0, %1, %2) : !tix.tensor<[C, 3, O], f32> {
// CHECK-NEXT:      %3 = tix.read %w[%2, %0, %1]
// CHECK-NEXT:      tix.yield %3
// CHECK-NEXT:    }
// CHECK-NEXT:    %y = tix.define "y" (%n, %o) : !tix.tensor<[N, O], f32> {
// CHECK:           tix.read %w_packed[%c, %k, %o]

// CHECK-LABEL: tix.program @beside
// CHECK-NOT:     _packed

// CHECK-LABEL: tix.program @short
// CHECK-NEXT:    %w_packed = tix.define "w_packed" {{.*}} : !tix.tensor<[6, O], f32> {
// CHECK:         %y = tix.define "y"
// CHECK:           tix.read %x[%n, %k]
// CHECK:           tix.read %w_packed[%k, %o]

// CHECK-LABEL: tix.program @rows
// CHECK-NEXT:    %x_packed = tix.define "x_packed" (%0, %1) : !tix.tensor<[1024, C], f32> {
// CHECK-NEXT:      %2 = tix.read %x[%1, %0]
// CHECK-NEXT:      tix.yield %2
// CHECK-NEXT:    }
// CHECK-NEXT:    %y = tix.define "y" (%n, %o) : !tix.tensor<[1024, 1024], f32> {
// CHECK:           tix.read %x_packed[%n, %c]
// CHECK:           tix.read %w[%c, %o]

// CHECK-LABEL: tix.program @trace
// CHECK-NEXT:    %b_packed = tix.define "b_packed" (%0, %1)
// CHECK-NEXT:      %2 = tix.read %b[%1, %0]
// CHECK:         %t = tix.define "t" ()
// CHECK:           tix.read %a[%i, %j]
// CHECK-NEXT:      tix.read %b_packed[%i, %j]

// CHECK-LABEL: tix.program @alone
// CHECK-NOT:     _packed

// CHECK-LABEL: tix.program @places
// CHECK-NEXT:    %f_packed = tix.define "f_packed" (%0, %1, %2) : !tix.tensor<[64, 32, 256], f32> {
// CHECK-NEXT:      %3 = tix.read %f[%1, %0, %2]
// CHECK:         %z = tix.define "z" (%c, %h, %p)
// CHECK:           tix.read %x[%d, %h, -%d + %p + 32]
// CHECK-NEXT:      {{%.*}} = tix.read %f_packed[%h, %c, %p - %d + 32]
