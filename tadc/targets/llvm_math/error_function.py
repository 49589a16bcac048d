"""`erf` (`tadc/targets/llvm_math/__init__.py`)."""

from __future__ import annotations

from tadc.targets.llvm_math.exponential import one_minus_decay
from tadc.targets.llvm_math.expression import Expression

EXPONENT = {
    # -log(1 - erf(x)) / x - 1 on 0 <= x <= 4; relative error of erf 2**-27.6
    "float": (
        *(0.12837916612625122, 0.636619508266449, 0.10277700424194336),
        *(-0.01915072835981846, -0.00016374289407394826, 0.0016696082893759012),
        *(-0.0006338991806842387, 0.00011785390233853832, -9.271524504583795e-06),
    ),
    # on 0 <= x <= 6; relative error 2**-55.9
    "double": (
        *(0.12837916709551256, 0.6366197723675866, 0.10277260330160451),
        *(-0.01912844700045805, -0.00020919475611041956, 0.0016962068825759952),
        *(-0.0005901282320980793, 2.5888775472296247e-05, 6.446356708390466e-05),
        *(-2.966467420983172e-05, 3.3112459045145545e-06, 2.956734531795369e-06),
        *(-1.8635125237448569e-06, 4.340332456000015e-07, 7.444582827396544e-08),
        *(-1.0938304227606239e-07, 5.232523285020983e-08, -1.652933470146573e-08),
        *(3.837927585020851e-09, -6.716803282836502e-10, 8.808080109907229e-11),
        *(-8.412466593345555e-12, 5.527505905717971e-13, -2.23147188523835e-14),
        4.1629710578426067e-16,
    ),
}

# erf is 1 from here on.
END = {"float": 4.0, "double": 6.0}


def erf(e: Expression, x: str) -> str:
    """`1 - exp(-Q(|x|))` with the sign of x, where `Q(x) = x + x P(x)`.

    Where x is small, Q is close to the result: its relative error is that of the result, so P takes
    its first coefficient last, where it rounds once. Where x is large, the power is small, and an
    error of it counts little.
    """
    a = e.at_most(e.absolute(x), END[e.type])
    first, *others = EXPONENT[e.type]
    exponent = e.fma(a, e.fma(a, e.halves(a, others), first), a)
    return e.copysign(one_minus_decay(e, exponent), x)
