"""both-D.5-Slarge (UnICORNN, sam D.5, icml C.5): by choosing S ≥ 2 large enough, ν + L − νS − 1 < L − 1; ν = [L/S],
less 1 if S divides L (sam (105), icml S(78)).

Counted, for the depth L of the witness: ν, the left side and the right side, at the S of the witness and all larger S
up to S + 1000 ("every large S"), or at all S from 2 to L + 1000 ("some S"). ν is the number of multiples of S below L.
"""
CASE = "every large S | ν + L − νS − 1 < L − 1"
P = {"L": "2", "S": "6"}

L, S = int(P["L"]), int(P.get("S", 2))

def left(S):
    nu = L // S - (L % S == 0)
    return nu + L - nu * S - 1

premise = L >= 2 and S >= 2
tried = range(S, max(S, L) + 1001)
fails = [s for s in tried if not left(s) < L - 1]
print(f"premise L = {L} >= 2, S = {S} >= 2: {'holds' if premise else 'fails'}")
print(f"measured at S = {S}: left side {left(S)} against right side {L - 1}")
print(f"fails at {len(fails)} of the {len(tried)} values S = {tried[0]} to {tried[-1]} (S >= L: nu = 0, equal sides)")
violated = premise and len(fails) == len(tried)
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
