"""icml-C.1 (UnICORNN, ICML 2021, supplement (7)): max_i |yₙ| ≤ √((2/α)(1 + 2βtₙ)) and max_i |zₙ| ≤ √(2(1 + 2βtₙ)),
tₙ = n dt, β = max{1 + 2α, 4α²}, in each layer, if α > 0, the initial states are 0 and dt is small enough.

Layer by layer, n = 1, 2, …: zₙ = zₙ₋₁ − h (tanh(w yₙ₋₁ + V uₙ + b) + α yₙ₋₁), yₙ = yₙ₋₁ + h zₙ, h = dt/(1 + e⁻ᶜ),
uₙ the input, or yₙ of the layer below. "limit": at dt, dt/2 and dt/4, each run of inputs as long in time.
"""
import math
from fractions import Fraction

CASE = "limit | max abs(yₙ)"
P = {"layer": 1, "step": 1600,
     "instance": {"alpha": "1/4", "layers": [{"dt": "1/40", "groups": [{"w": "0", "c": "20", "bias": "0"}],
                                              "input_weights": [["1"]]}],
                  "inputs": {"runs": [[126, ["10"]], [252, ["-10"]], [252, ["10"]], [252, ["-10"]], [252, ["10"]],
                                      [252, ["-10"]], [214, ["10"]]]}}}
number = lambda text: float.fromhex(text) if "x" in text else float(Fraction(text))
alpha, kept = number(P["instance"]["alpha"]), P["instance"]["layers"][: P["layer"]]
violated = alpha > 0
print(f"premise alpha = {alpha} > 0: {'holds' if violated else 'fails'}; layer {P['layer']}")
for finer in (1, 2, 4) if CASE.startswith("limit") else (1,):
    nets = [[(number(layer["dt"]) / finer / (1 + math.exp(-number(neuron["c"]))), number(neuron["w"]),
              number(neuron["bias"]), [(j, number(v)) for j, v in enumerate(V) if number(v)])  # h, w, b, a row of V
             for neuron, V in zip(layer["groups"], layer["input_weights"])] for layer in kept]
    ys, zs = [[0.0] * len(net) for net in nets], [[0.0] * len(net) for net in nets]
    inputs = (list(map(number, u)) for count, u in P["instance"]["inputs"]["runs"] for _ in range(finer * count))
    for n, u in zip(range(1, finer * P["step"] + 1), inputs):
        for net, y, z in zip(nets, ys, zs):
            for i, (h, w, b, V) in enumerate(net):
                z[i] -= h * (math.tanh(w * y[i] + sum(v * u[j] for j, v in V) + b) + alpha * y[i])
                y[i] += h * z[i]
            u = y
    measured, dt = max(map(abs, ys[-1] if "yₙ" in CASE else zs[-1])), number(kept[-1]["dt"]) / finer
    bound = math.sqrt((2 / alpha if "yₙ" in CASE else 2) * (1 + 2 * max(1 + 2 * alpha, 4 * alpha**2) * n * dt))
    print(f"dt = {dt}, n = {n}, t = {n * dt}: {CASE.split(' | ')[1]} measured {measured:.10g}, bound {bound:.10g}")
    violated = violated and measured > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
