# Claims: sco-5.5.1-gpu
"""sco-5.5.1-gpu: is the machine precision of a GPU lower than that of a CPU: as in use, and in the same dtype?"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from odernn.published.sources import Source
from verification.cases.decision import at, decided
from verification.certify.float_replay import FORMATS, rounded
from verification.claim import Attempt, Case, Check, Claim, Decided, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.kinds import Integer
from verification.parameters import Parameter, declared

NAMES = ("float32", "float64")
EXPONENT = declared(Parameter("k", Integer(1, 128)))
"""eps = 2^−k."""


def in_use_case(on_gpu: str = "float32", on_cpu: str = "float64") -> Case:
    """The format in use on a GPU has the larger eps. The paper prints no dtypes; its published code has float32."""

    def first(p: Parameters) -> Decided:
        import torch

        from verification.measure.machine_precision import DTYPES

        gpu, cpu = (torch.finfo(DTYPES[p[device]]).eps for device in ("GPU", "CPU"))
        return Decided(not gpu > cpu, f"eps of {p['GPU']} is {gpu:.4g}, of {p['CPU']} {cpu:.4g}")

    def second(p: Parameters) -> Decided:
        """1 + eps/2 of the coarser format is halfway between two of its numbers, and a number of the finer one."""
        coarse, fine = FORMATS[p["GPU"]], FORMATS[p["CPU"]]
        halfway = 1 + Fraction(1, 2**coarse.precision)
        told = rounded(halfway, fine) == halfway != rounded(halfway, coarse)
        return Decided(not told, f"{halfway} is {'' if told else 'no '}number of {p['CPU']} and none of {p['GPU']}")

    return decided(
        f"{on_gpu} on the GPU, {on_cpu} on the CPU",
        "eps on a GPU > eps on a CPU",
        at({"GPU": on_gpu, "CPU": on_cpu}),
        first,
        second,
        box="the formats in use",
        claimed="a larger eps on the GPU",
        names=("torch", "replay"),
    )


def format_case(name: str) -> Case:
    """eps of a dtype is a property of the format, the same number wherever IEEE 754 is kept."""

    def ask(_: Budget, __: int) -> Attempt:
        from verification.measure.machine_precision import measured_epsilon

        measured_here = measured_epsilon(name)
        return Attempt(
            f"eps of {name} on the CPU by additions, and of the format",
            1,
            found=f"{measured_here:.4g} on both",
            claimed="a larger eps on the GPU",
            candidates=({"k": str(round(-math.log2(measured_here)))},),
        )

    def check(parameters: Parameters) -> Check:
        return _format_check(parameters, name)

    return Case(f"{name}, the format", "eps on a GPU > eps on a CPU", ask, EXPONENT.guards(check))


def _format_check(parameters: Parameters, name: str) -> Check:
    """1 + 2^−k is a number of the format and 1 + 2^−(k+1) rounds to 1: by torch, and by rounding written by hand."""
    import torch

    from verification.measure.machine_precision import DTYPES, measured_epsilon

    k = int(parameters["k"])
    form, step = FORMATS[name], Fraction(1, 2**k)
    by_hand = rounded(1 + step, form) == 1 + step and rounded(1 + step / 2, form) == 1
    library = torch.finfo(DTYPES[name]).eps == measured_epsilon(name) == float(step)
    return Check(
        opinions=(
            Opinion("torch", library, f"torch.finfo({name}).eps = 2^-{k} = measured by additions, no device in it"),
            Opinion("replay", by_hand, f"1 + 2^-{k} is a number of {name}, 1 + 2^-{k + 1} rounds to 1"),
        ),
        words=f"{name} has eps = 2^-{k}: IEEE 754 fixes it, not the device; what a device that departs from it does "
        "has to be measured there",
    )


def device_case(name: str) -> Case:
    """The same measured on a CUDA device, where there is one."""

    def ask(_: Budget, __: int) -> Attempt:
        from verification.measure.machine_precision import device_available, measured_epsilon

        if not device_available():
            return Attempt(
                "",
                0,
                inapplicable="no CUDA device here: measured_epsilon(name, 'cuda') in "
                "verification/measure/machine_precision.py needs one",
            )
        here, there = measured_epsilon(name), measured_epsilon(name, "cuda")
        candidates = ({"k": str(round(-math.log2(there)))},) if there <= here else ()
        return Attempt(
            f"{name}: eps {here:.4g} on the CPU, {there:.4g} on the GPU, by additions",
            2,
            found=f"{there:.4g}",
            claimed=f"more than {here:.4g}",
            candidates=candidates,
        )

    def check(parameters: Parameters) -> Check:
        return replace(_format_check(parameters, name), premises=(_measured_there(parameters, name),))

    return Case(f"{name}, measured", "eps on a GPU > eps on a CPU", ask, EXPONENT.guards(check))


def _measured_there(parameters: Parameters, name: str) -> Premise:
    """What the format says of eps says nothing of a device: it has to be there, and to be asked."""
    from verification.measure.machine_precision import device_available, measured_epsilon

    text = f"a CUDA device measures eps = 2^-{parameters['k']}"
    if not device_available():
        return Premise(text, "no CUDA device here", False)
    there = Fraction(measured_epsilon(name, "cuda"))
    return Premise(text, str(there), there == Fraction(1, 2 ** int(parameters["k"])))


CLAIMS = (
    Claim(
        id="sco-5.5.1-gpu",
        source=Source("scornn", "Sec. 5.5.1"),
        statement="the machine precision on GPUs is said to be far coarser than on CPUs: single against double, as in "
        "use, and asked of the same dtype on both",
        semantics="float",
        cases=(
            in_use_case(),
            *(format_case(name) for name in ("float16", "float32", "float64")),
            *(device_case(name) for name in NAMES),
        ),
    ),
)
