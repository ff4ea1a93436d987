"""The data of the catalogue: one literal entry a method, in the file of its kind, laid out as in its source.

explicit, embedded, strong_stability_preserving   stages one after the other; with an estimate; SSP
diagonally_implicit, implicit                     one stage at a time to solve for, or all at once
symplectic, composition, nystrom                  for y' = ∂H/∂z, z' = −∂H/∂y; of many steps; for y″ = g(y)
"""
