"""ode-T2-proof (proof of Theorem 2): the condition on the step size is proven in Theorem 5, as is announced; and the
numbers by which such references go are unique.

Theorem 5 (Appendix A), of which P has the notions, is to speak of what Theorem 2 asserts: a step, stability, an ARNN,
anti-Hermitian weights, eigenvalues. Measured: how many of these words it has (bound: at least 1), or how many of the
numbers of the definitions, in the order in which they are printed in P, come twice (bound: 0).
"""
CASE = "text of Theorem 5 | proves a condition on the step size"
P = {"theorem 5": "Boolean functions, uniform family, map, uniqueness, fixed point, evolution of an ODE, "
     "characteristic function, polynomial number, parameters"}

if "numbering" in CASE:
    (kind, printed), = P.items()
    printed = printed.split()
    measured, bound = len(printed) - len(set(printed)), 0
    print(f"{kind} printed: {', '.join(printed)}; twice: {sorted({n for n in printed if printed.count(n) > 1})}")
    violated = measured > bound
else:
    text = P["theorem 5"].lower()
    wanted = ["step", "stable", "stability", "arnn", "anti-hermitian", "eigenvalue"]
    found = [word for word in wanted if word in text]
    measured, bound = len(found), 1
    print(f"Theorem 5: {text}")
    print(f"words of Theorem 2 in it, of {', '.join(wanted)}: {', '.join(found) or 'none'}")
    violated = measured < bound
print(f"measured {measured} against bound {bound}")
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
