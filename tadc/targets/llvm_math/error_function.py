"""`erf` (`tadc/targets/llvm_math/__init__.py`)."""

from __future__ import annotations

from tadc.targets.llvm_math.exponential import bounded_exp
from tadc.targets.llvm_math.expression import Expression

SMALL = {
    # erf(x) / x - 1 in x**2 on 0 <= x <= 1; relative error of erf 2**-29.4
    "float": (
        *(0.12837916612625122, -0.3761262595653534, 0.11283578723669052),
        *(-0.026853350922465324, 0.0051871794275939465, -0.0007998105138540268),
        7.808089867467061e-05,
    ),
    # relative error 2**-56.0
    "double": (
        *(0.12837916709551256, -0.3761263890318337, 0.11283791670939074),
        *(-0.02686617064239472, 0.005223977600825639, -0.0008548325697479524),
        *(0.00012055287173744695, -1.4924597782125307e-05, 1.644580755835411e-06),
        *(-1.6196761825258422e-07, 1.3671883424063772e-08, -7.710140183858956e-10),
    ),
}

LARGE = {
    # -log(1 - erf(x)) on 1 <= x <= 4; relative error of erf 2**-29.8
    "float": (
        *(0.00034147273981943727, 1.1270893812179565, 0.6381445527076721),
        *(0.10310695320367813, -0.021838132292032242, 0.0029476673807948828),
        -0.00018637918401509523,
    ),
    # on 1 <= x <= 6; relative error 2**-54.9
    "double": (
        *(1.0701032785077058e-06, 1.1283686532214634, 0.6366678257632119),
        *(0.10263701517366695, -0.018864264546629164, -0.0005855031042356403),
        *(0.0021001690275921424, -0.0009209815833322795, 0.00023124880724294735),
        *(-2.8268784758181264e-05, -3.5164973252694006e-06, 2.647763768614283e-06),
        *(-6.826949230563685e-07, 1.0748428247440052e-07, -1.0829794357452895e-08),
        *(6.473167055849866e-10, -1.7577282923508687e-11),
    ),
}

# erf is 1 from here on.
END = {"float": 4.0, "double": 6.0}


def erf(e: Expression, x: str) -> str:
    """`x + x P(x**2)` below 1, and `1 - exp(-Q(|x|))` from there on, where the power is below 0.16.

    So an error of the power counts little, and that of Q counts less, the larger Q is.
    """
    square = e.mul(x, x)
    small = e.fma(x, e.halves(square, SMALL[e.type]), x)
    a = e.absolute(x)
    exponent = e.halves(e.at_most(a, END[e.type]), LARGE[e.type])
    large = e.sub(1.0, bounded_exp(e, e.negative(exponent)))
    # In this order NaN takes the first branch, which keeps it.
    return e.select(e.compare("oge", a, 1.0), e.copysign(large, x), small)
