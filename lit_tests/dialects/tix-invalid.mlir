// What the verifier refuses.
// RUN: tadc-opt %s --verify-diagnostics --split-input-file | filecheck %s

tix.program @f (%x = "x" : !tix.tensor<[N, N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
    %0 = tix.read %x[%i]
    tix.yield %0
  }
  tix.return %y
}
// CHECK: 1 indices read a tensor of rank 2

// -----

tix.program @f (%x = "x" : !tix.tensor<[N, M], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[N, M], f64> as [M * N] {
    %0 = tix.read %x[%p] as [N + M]
    tix.yield %0
  }
  tix.return %y
}
// CHECK: the shape behind `as` has another number of elements

// -----

tix.program @f (%x = "x" : !tix.tensor<[N, M], f64>) {
  %y = tix.define "y" (%p) : !tix.tensor<[N, M], f64> as [N] {
    %0 = tix.read %x[%p, 0]
    tix.yield %0
  }
  tix.return %y
}
// CHECK: the shape behind `as` has another number of elements

// -----

%x, %i = "test.op"() : () -> (!tix.tensor<[N], f64>, index)
%0 = "tix.read"(%x, %i) <{map = #tix.map<(d0, d1) -> (d0 + d1)>}> : (!tix.tensor<[N], f64>, index) -> !tix.real
// CHECK: 1 indices for 2 dimensions

// -----

%0 = "test.op"() : () -> f64
%1 = tix.read %0[]
// CHECK: f64 should be of base attribute tix.tensor

// -----

%0 = "tix.index_to_real"() <{map = #tix.map<(d0) -> (d0)>}> : () -> !tix.real
// CHECK: 0 indices for 1 dimensions

// -----

%0 = "tix.index_to_real"() <{map = #tix.map<() -> (1, 2)>}> : () -> !tix.real
// CHECK: one affine form expected, not 2

// -----

%0 = "tix.floordiv"() <{map = #tix.map<(d0) -> (d0)>, divisor = #builtin.int<2>}> : () -> index
// CHECK: 0 indices for 1 dimensions

// -----

%0 = "tix.floordiv"() <{map = #tix.map<() -> ()>, divisor = #builtin.int<2>}> : () -> index
// CHECK: one affine form expected, not 0

// -----

%q = tix.floordiv (N) by 0
// CHECK: the divisor must be positive, not 0

// -----

%q = tix.floordiv (N) by -2
// CHECK: the divisor must be positive, not -2

// -----

%0 = "test.op"() : () -> !tix.real
tix.yield %0
// CHECK: 'tix.yield' ends no body: 'builtin.module' has none

// -----

%0 = "test.op"() : () -> f64
%1 = "tix.exp"(%0) : (f64) -> !tix.real
// CHECK: operand 'operand' at position 0 does not verify:{{$}}
// CHECK-NEXT: Expected attribute !tix.real but got f64

// -----

%0 = "test.op"() : () -> !tix.real
%1 = "tix.exp"(%0) : (!tix.real) -> f64
// CHECK: result 'result' at position 0 does not verify:{{$}}
// CHECK-NEXT: Expected attribute !tix.real but got f64

// -----

%0, %1 = "test.op"() : () -> (!tix.real, f64)
%2 = "tix.add"(%0, %1) : (!tix.real, f64) -> !tix.real
// CHECK: operand 'rhs' at position 1 does not verify:{{$}}
// CHECK-NEXT: Expected attribute !tix.real but got f64

// -----

%0 = "tix.constant"() <{value = 1.0 : f64}> : () -> !tix.real
// CHECK: should be of base attribute builtin.float_data

// -----

%0 = tix.sum (%k) in (%k >= 0) {
}
// CHECK: Operation tix.sum contains empty block

// -----

%0 = tix.sum (%k) in (%k >= 0) {
  "test.termop"() : () -> ()
}
// CHECK: the body must end in tix.yield

// -----

%0 = "tix.sum"() <{domain = #tix.set<(d0) : (d0 >= 0)>}> ({
  %1 = tix.constant 1
  tix.yield %1
}) : () -> !tix.real
// CHECK: the index set has another number of dimensions

// -----

%0 = "tix.sum"() <{domain = #tix.set<(d0) : (d0 >= 0)>}> ({
^bb0(%k: f64):
  %1 = tix.constant 1
  tix.yield %1
}) : () -> !tix.real
// CHECK: the arguments of a body must be of type index

// -----

%0 = tix.if () {
  %1 = tix.constant 1
  tix.yield %1
} else {
}
// CHECK: Operation tix.if contains empty block

// -----

%0 = tix.if () {
  "test.termop"() : () -> ()
} else {
  %1 = tix.constant 1
  tix.yield %1
}
// CHECK: the body must end in tix.yield

// -----

%0 = tix.if () {
  %1 = tix.constant 1
  tix.yield %1
} else {
  "test.termop"() : () -> ()
}
// CHECK: the body must end in tix.yield

// -----

%0 = "tix.if"() <{disjuncts = [#tix.set<(d0) : ()>]}> ({
  %1 = tix.constant 1
  tix.yield %1
}, {
  %1 = tix.constant 1
  tix.yield %1
}) : () -> !tix.real
// CHECK: the condition has another number of dimensions

// -----

%0 = "tix.if"() <{disjuncts = []}> ({
^bb0(%k: index):
  %1 = tix.constant 1
  tix.yield %1
}, {
  %1 = tix.constant 1
  tix.yield %1
}) : () -> !tix.real
// CHECK: the bodies of a condition have no arguments

// -----

%y = tix.define "y" () : !tix.tensor<[], f64> {
  %1 = tix.constant 1
  tix.yield %1
}
// CHECK: 'tix.define' expects parent op 'tix.program'

// -----

tix.program @f () {
  %y = tix.define "y" (%i) : !tix.tensor<[], f64> {
    %0 = tix.constant 1
    tix.yield %0
  }
  tix.return
}
// CHECK: 1 indices define rank 0

// -----

tix.program @f () {
  %y = tix.define "y" () : !tix.tensor<[], f64> {
    "test.termop"() : () -> ()
  }
  tix.return
}
// CHECK: the body must end in tix.yield

// -----

tix.program @f () {
  %y = "tix.define"() <{label = "y"}> ({
  ^bb0(%i: f64):
    %0 = tix.constant 1
    tix.yield %0
  }) : () -> !tix.tensor<[N], f64>
  tix.return
}
// CHECK: the arguments of a body must be of type index

// -----

tix.program @f () {
  "test.termop"() : () -> ()
}
// CHECK: the program must end in tix.return

// -----

tix.program @f () {
}
// CHECK: Operation tix.program contains empty block

// -----

tix.return
// CHECK: 'tix.return' expects parent op 'tix.program'

// -----

"tix.program"() <{sym_name = "f", argument_names = [], derived = [], most = {}}> ({
^bb0(%x: !tix.tensor<[], f64>):
  tix.return
}) : () -> ()
// CHECK: every argument needs a name

// -----

tix.program @f (%x = "x" : !tix.tensor<[], f64>, %y = "x" : !tix.tensor<[], f64>) {
  tix.return
}
// CHECK: two arguments have the same name

// -----

tix.program @f (%x = "x" : f64) {
  tix.return
}
// CHECK: arguments must be tensors

// -----

tix.program @f () {
  tix.return
}
tix.program @f () {
  tix.return
}
// CHECK: Redefinition of symbol "f"

// -----

%0 = "test.op"() : () -> !tix.tensor<[], f64>
tix.program @f () {
  tix.return %0
}
// CHECK: Operation using value defined out of its IsolatedFromAbove parent

// -----

"test.op"() {size = #tix.size<R = min()>} : () -> ()
// CHECK: the size R needs a bound

// -----

"test.op"() {size = #tix.size<R = min((N) floordiv 0)>} : () -> ()
// CHECK: the divisors of the size R must be positive
