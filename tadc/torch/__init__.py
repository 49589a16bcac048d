"""Programs as operations of PyTorch: `import tadc.torch`, with the package torch installed.

    conv = tadc.torch.op("y[i] = sum[k](w[k] * x[2*i + k])")    # text, or a tadc.Function

    @tadc.torch.op
    def conv(w, x):                     # the signature gives the order of the arguments
        \"\"\"y[i] = sum[k](w[k] * x[2*i + k])\"\"\"

    class Conv(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.rand(3))

        def forward(self, x):
            return conv(self.w, x)

    torch.compile(Conv(), fullgraph=True, dynamic=True)(x).sum().backward()
    torch.func.hessian(lambda w: conv(w, x).sum())(w)
    torch.vmap(conv, (None, 0))(w, batch)

Index tensors are plain tensors of integers; sizes that no shape tells are numbers:

    total = tadc.torch.op("seg: range(B)[E]\\ns[b in range(B)] = sum[e, seg[e] == b](v[e])")
    total(torch.tensor([2, 0, 2]), torch.rand(3), B=4)

Inverse modes are methods, of the same orders; an operation can be a flow of `tadc.ode`, too:

    sign, logarithm = tadc.torch.op(layer).log_abs_det((x, w))
    tadc.torch.op(tadc.ode.flow(g, 0, 1))(x)

The derivatives of a program are programs, and so is the program with one more index. So every rule
that PyTorch asks of an operation is one more operation, and every order and nesting works.

- `op`: `op`, which users call, and the object that it makes
- `inverse`: inverse modes of programs, as functions of tensors
- `flow`: flows of differential equations, with first derivatives
- `registered`: an operator of PyTorch for each program, `tadc::p_<hash>`
- `exported`: one operator for all programs, `tadc::run`, for `torch.export`
- `operator`: what both have in common: shapes, types and `torch.vmap`
- `autograd`: gradients and tangents
- `eager`: most calls, which need no dispatcher
- `kernel`: tensors where they lie, and the machine code that reads them; views of index tensors
- `layout`: which arguments come as tensors, and which as shapes
- `checks`: tensors that an operation cannot take, and numbers
- `private`: names of PyTorch that are not public
- `package`: PyTorch itself
"""

from tadc.torch.flow import FlowOp
from tadc.torch.op import Op, op

__all__ = ["FlowOp", "Op", "op"]
