"""Numbers that decide: algebraic numbers, expressions, polynomials, matrices, inertia, matrix inequalities."""
