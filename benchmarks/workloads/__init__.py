"""The thirteen workloads, in the order of the tables.

`workload` says what one is; the modules hold one or two that are alike:
`w1_paper`, `w2_kernel_sum`, `w3_convolution`, `w4_products`, `w5_stencils`, `w6_hankel`, `w7_sums`,
`w8_distances`.
"""

from benchmarks.workloads import (
    w1_paper,
    w2_kernel_sum,
    w3_convolution,
    w4_products,
    w5_stencils,
    w6_hankel,
    w7_sums,
    w8_distances,
)

WORKLOADS = (
    w1_paper.PAPER,
    w2_kernel_sum.KERNEL_SUM,
    w3_convolution.STRIDED,
    w3_convolution.PLANE,
    w4_products.MATRICES,
    w4_products.BILINEAR,
    w5_stencils.LINEAR,
    w5_stencils.NONLINEAR,
    w6_hankel.HANKEL,
    w6_hankel.FRAMES,
    w7_sums.CHANNELS,
    w7_sums.LOG_SUM_EXP,
    w8_distances.DISTANCES,
)
