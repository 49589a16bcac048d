"""What users see of a derivative: pictures.

- `pictures`: pictures of index sets, as SVG
"""
