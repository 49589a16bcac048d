"""Random layers of networks, of real sizes: `random_layer(seed)` beside PyTorch."""

from __future__ import annotations

import random

from tests.support.block_layers import random_block
from tests.support.convolution_layers import random_convolution
from tests.support.normal_layers import random_normalisation
from tests.support.product_layers import random_attention, random_pairs, random_product
from tests.support.shuffle_layers import random_shuffle
from tests.support.torch_layers import Layer, drawn
from tests.support.transposed_layers import random_transposed
from tests.support.window_layers import random_banded, random_filter, random_pooling

KINDS = (
    random_convolution,
    random_product,
    random_transposed,
    random_pooling,
    random_attention,
    random_convolution,
    random_normalisation,
    random_filter,
    random_pairs,
    random_product,
    random_shuffle,
    random_banded,
    random_block,
)


def random_layer(seed: int) -> Layer:
    """A layer of the kind that is this seed's turn, with declarations or without."""
    rng = random.Random(seed)
    return drawn(rng, KINDS[seed % len(KINDS)]).declared(rng)
