"""The plan as text: printed with what was weighed, and read where one is given by hand.

- `plan_text`: the nests of a program as text
- `value_text`: values of a body as text, as plans name them
- `plan_comments`: comments of a plan: work, time, what was rejected
- `plan_parser`: that text, read into entries
- `apply_plan`: the nests that entries say, where definitions have them
- `apply_sums`: panels and chunks that entries say
"""
