// The registers of a processor stand in the text of a program; those of AVX-512 do not.
// RUN: tadc-opt %s -p 'set-registers{count=16 of_vector=2}' | filecheck %s
// RUN: tadc-opt %s -p 'set-registers{count=16 of_vector=2}' | tadc-opt | filecheck %s
// RUN: tadc-opt %s -p 'set-registers{count=16 of_vector=2},set-registers' | filecheck %s --check-prefix WIDE
// RUN: not tadc-opt %s -p 'set-registers{count=16 of_vector=32}' 2>&1 | filecheck %s --check-prefix BAD

tix.program @f most {N = 127} (%x = "x" : !tix.tensor<[N], f32>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f32> {
    %0 = tix.read %x[%i]
    tix.yield %0
  }
  tix.return %y
}

// CHECK: tix.program @f most {N = 127} registers {count = 16, of_vector = 2} (%x = "x" : !tix.tensor<[N], f32>) {
// CHECK-NEXT: %y = tix.define "y" (%i) : !tix.tensor<[N], f32> {
// WIDE: tix.program @f most {N = 127} (%x = "x" : !tix.tensor<[N], f32>) {
// BAD: a vector takes between 1 and all 16 registers, not 32
