"""Orthogonal and unitary matrices for recurrent weights: parametrisations, and updates that stay on the group.

cayley              scaled Cayley, W = (I + A)⁻¹(I − A) D, as a module and as a function
signs               back from W: signs D and a skew-symmetric A with bounded entries
resigning           other signs during training, the same W, smaller entries of A
unitary             multiplicative Cayley updates; the exponential of a skew-symmetric matrix
restricted_unitary  unitary matrices from 7n numbers, applied in O(n log n)
factored_solve      linear systems whose matrix is factored once, for all derivatives
"""
