"""The inverse modes of programs that hold what random ones seldom have, against dense Jacobians."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tests.support.inverse_checks import (
    TOLERANCE,
    Modes,
    check_against_numpy,
    check_invariants,
    check_text,
)
from tests.support.random_updates import Update

WRITTEN = {
    "a function with a derivative of its own": """
x: f64[4]
x[i] = x[i]+soft(x[i])
""",
    "sums and products of all": """
x: f64[2,3]
s[i] = sum[j](x[i,j]*max[k](x[k,j]))
x[i,j] = 2*x[i,j]+0.1*s[i]*prod[a,b](1+0.1*x[a,b])
""",
    "indices that wrap": """
x: f64[6]
y: f64[6]
y[i] += x[(2*i)%6]
x[i] = x[(i+1)%6]*2 + y[i//2]
""",
    "a triangle in two dimensions": """
x: f64[3,3]
x[i,j] = 2*x[i,j] + 0.2*sum[a in range(i)](x[a,2-j]) + (0.3*x[i,j-1] if j>0 else 0)
""",
    "a matrix by its transpose": """
x: f64[3,3]
x[i,j] = x[j,i]*2 + (sin(x[i,j]) if i>j else 0)
""",
    "results in another order": """
x: f64[2]
y: f64[3]
x[i] *= 2
y[i] *= -3
return y, x
""",
    "a temporary with three readers": """
x: f64[3]
y: f64[3]
t[i] = sin(x[i])
x[i] = 2*x[i]+t[2-i]
y[i] = y[i]*exp(t[i])
x[i] += y[i]
""",
    "all by one element": """
x: f64[5]
x[i] = x[i] if i == 2 else 2*x[i]+x[2]**2
""",
    "conditions on values and indices": """
x: f64[5]
y: f64[5]
x[i] = 2*x[i] if y[i] > 0 and i < 3 or x[i] < 0.5 else -x[i]
y[i]+=x[i]
""",
    "halves of a symbolic size": """
x: f64[2*H]
x[i] = x[i] if i < H else x[i]*exp(x[i-H])
""",
    "a staggered grid": """
x: f64[N + 1]
y: f64[N]
d[i in range(N)] = x[i+1] - x[i]
y[i] += d[i]
e[i in range(N + 1)] = pad(y[i-1]) - pad(y[i])
x[i] += e[i]
""",
    "a matrix and a transposed one": """
x: f64[M,N]
y: f64[N,M]
a[i,j]=x[i,j]+0.2*y[j,i]
b[i,j]=y[i,j]-0.3*x[j,i]
x[i,j]=a[i,j]
y[i,j]=b[i,j]
""",
    "they change places": """
x: f64[M,N]
y: f64[N,M]
a[i,j]=2*y[j,i]
b[i,j]=3*x[j,i]
x[i,j]=a[i,j]
y[i,j]=b[i,j]
""",
    "three tensors change places": """
x: f64[3]
y: f64[3]
z: f64[3]
t[i]=x[i]
x[i]=y[i]*2
y[i]=z[2-i]
z[i]=t[i]+sin(x[i])
""",
    "even elements first": """
x: f64[6]
x[i] = x[2*i] if i<3 else x[2*i-5]
""",
    "scalars": """
a: f64[]
b: f64[]
c=a*2+b
d=b*2-a
a=d
b=c
b*=a
""",
    "polar coordinates": """
x: f64[3]
y: f64[3]
r[i]=(x[i]**2+y[i]**2)**0.5
t[i]=atan2(y[i],x[i])
x[i]=r[i]
y[i]=t[i]
""",
    "sorted pairs": """
x: f64[3]
y: f64[3]
a[i]=min(x[i],y[i])
b[i]=max(x[i],y[i])
x[i]=a[i]
y[i]=b[i]
""",
    "the map of Hénon": """
x: f64[]
y: f64[]
t = 1 - 1.4*x**2 + y
y = 0.3*x
x = t
""",
}


@pytest.mark.parametrize("name", WRITTEN)
def test_inverse_modes_of_examples_invert_the_jacobian(name: str) -> None:
    tadc.define_function("soft", "x", value="log1p(exp(x))", derivative="sigmoid(x)")
    rng = np.random.default_rng(5)
    sizes = {"N": 3, "M": 4, "H": 3, "2 * H": 6, "N + 1": 4}
    arguments = {
        t.name: rng.uniform(-1, 1, [sizes[n] if isinstance(n, str) else n for n in t.shape])
        for t in tadc.compile(WRITTEN[name]).args
    }
    modes = Modes(Update(WRITTEN[name], arguments, ()), "interpret")
    check_against_numpy(modes, TOLERANCE["f64"], rng)
    check_invariants(modes, rng)
    check_text(modes, rng)
