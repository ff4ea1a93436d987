"""ode-C1-lab (Claims 1 and 2 and their proofs): the label of the ODERNN of an LSTM or GRU with L layers is the same in
the claim, "2-?-ODERNN", and in its proof, "L-2-ODERNN".

The case says in which order n and t stand in the claim and in the proof, and which of the two is compared. Measured:
the number in the claim. Bound: the number in the proof, for every L.
"""
CASE = "n-t, n-t | n of claim and proof"
P = {"L": "1"}

L = int(P["L"])
labels = {"claim": ("2", "?"), "proof": (str(L), "2")}
orders, compared = CASE.split(" | ")
claim, proof = (
    labels[where][order.split("-").index(compared[0])] for where, order in zip(("claim", "proof"), orders.split(", "))
)
print(f"L = {L}: {'-'.join(labels['claim'])}-ODERNN in the claim, {'-'.join(labels['proof'])}-ODERNN in the proof")
print(f"measured {compared[0]} = {claim} in the claim against bound {proof} in the proof")
violated = "?" not in (claim, proof) and claim != proof
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
