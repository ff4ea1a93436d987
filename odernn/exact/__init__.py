"""Numbers that decide: nothing in this folder is compared with a tolerance.

algebraic            rationals, and algebraic numbers of one real field Q(θ); ``compositum``: several fields in one
expressions          an exact number written as text, "1/2-sqrt(3)/6"
coefficients         what a user may write for a coefficient, and the number that it stands for
polynomials          greatest common divisors, Sturm chains, real roots, the Routh array
linear_algebra       matrices over the rationals and over one field
definiteness         is a symmetric matrix positive semi-definite? with its inertia
matrix_inequalities  a solution of a linear matrix inequality, or a proof that there is none
integers, text       counts among the arguments; numbers as the evidence of a certificate has them
"""
