"""The workloads, in the order of the tables: thirteen that come first, and more of other kinds.

`workload` says what one is; the modules hold one or two that are alike. The thirteen:
`w1_paper`, `w2_kernel_sum`, `w3_convolution`, `w4_products`, `w5_stencils`, `w6_hankel`, `w7_sums`,
`w8_distances`. Other ways to read arrays: `w9_small_matrices`, `w10_box_filter`, `w11_upsampling`,
`w12_volumes`, `w13_forces`, `w14_groups`, `w15_attention`, `w16_khatri_rao`, `w17_correlation`,
`w18_layer_norm`, `w19_convolutions`.
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
    w9_small_matrices,
    w10_box_filter,
    w11_upsampling,
    w12_volumes,
    w13_forces,
    w14_groups,
    w15_attention,
    w16_khatri_rao,
    w17_correlation,
    w18_layer_norm,
    w19_convolutions,
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
MORE = (
    w9_small_matrices.FOUR,
    w9_small_matrices.SIXTEEN,
    w10_box_filter.BOX_FILTER,
    w11_upsampling.UPSAMPLING,
    w12_volumes.LAPLACIAN,
    w12_volumes.BLUR,
    w13_forces.FORCES,
    w14_groups.DEPTHWISE,
    w14_groups.GROUPED,
    w15_attention.ATTENTION,
    w16_khatri_rao.KHATRI_RAO,
    w17_correlation.CORRELATION,
    w18_layer_norm.LAYER_NORM,
    w19_convolutions.TRANSPOSED,
    w19_convolutions.VOLUME,
)
ALL = (*WORKLOADS, *MORE)
