"""Steps whose coefficients are matrices: the Burrage–Butcher tensor, monotone stages, contraction, its weights G."""
