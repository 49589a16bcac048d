"""Threads of a GPU that compute several elements each.

- `copies`: code for several elements, with what they have in common once
- `thread_costs`: how many elements pay
"""
