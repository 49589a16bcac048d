"""Pictures of the index sets of a derivative, as SVG from the exact mathematics.

`tadc.view.pictures.pictures.pictures` gives them for contributions (of an
`tadc.explain.gradients.Explanation`), sizes and an element:

- `pictures`: which pictures there are, of which element, and what a page needs to know of them
- `instance`: a contribution at given sizes: rows of its set, its equations and their solution
- `index_plane`: the points of the set that read an element, in the plane of two indices
- `solution_plane`: the values of two new indices, where the solutions are a plane
- `strip`: the range of the new sum at each element
- `scene`: what a picture shows, before it is drawn
- `svg`: the text of a scene
- `geometry`: polygons, lines and integer points, exact
- `words`: conditions, counts and lists as text
"""
