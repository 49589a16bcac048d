"""Methods from the literature, each as its formula and as its users write it in torch.

`method` says what one is. `learning` has layers and losses of networks, `images` filters and
transforms, `physics` particles, fields and rigid bodies, `statistics` kernels, distances and
likelihoods. `__main__` measures them.
"""

from benchmarks.methods.images import IMAGES
from benchmarks.methods.learning import LEARNING
from benchmarks.methods.physics import PHYSICS
from benchmarks.methods.statistics import STATISTICS

METHODS = (*LEARNING, *IMAGES, *PHYSICS, *STATISTICS)
