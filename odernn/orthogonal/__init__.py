"""Orthogonal and unitary matrices: scaled Cayley and exponential parametrisations, signs, updates that stay."""
