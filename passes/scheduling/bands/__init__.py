"""Stages of a stencil that share bands: each has the elements of a band that the next one reads.

- `bands`: which definitions share bands: stages of a stencil, and the roots that need them
- `band_layout`: the elements that a band has of each of them
- `band_roots`: boxes of several roots that lie side by side
- `band_axes`: definitions with an index for each dimension
- `band_windows`: what an element reads of each dimension of a tensor
- `band_stages`: the elements that a definition has in a band
- `slides`: bands that slide along the first dimension, plane by plane
- `rolls`: stages that roll along with their reader, in registers, in place of bands
- `band_pieces`: sides of pieces of a sum that are bands of what it alone reads
- `band_checks`: whether what stages read of each other is in the band
"""
