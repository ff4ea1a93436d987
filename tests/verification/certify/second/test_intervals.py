"""The second back-end: intervals around the same numbers, from text alone, with nothing of the project imported."""

from __future__ import annotations

import ast
import itertools
import math
import random
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import flint
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from odernn.bounds.numbers import BALLS
from verification.certify.second import intervals as second
from verification.certify.second import quick_intervals
from verification.claim import Setting, admissible
from verification.instance import decode_number, encode_number, to_plain
from verification.registry import Registry

iv = second.iv
DIGITS = 60
NETWORKS = [(seed, 1 + seed % 3) for seed in range(6)]


@pytest.fixture(autouse=True)
def precision():
    """Each test starts at 53 bits and must find that again."""
    before, iv.prec = iv.prec, 53
    yield
    assert iv.prec == 53
    iv.prec = before


def ends(interval) -> tuple[mpf, mpf]:
    return tuple(mp.make_mpf(end) for end in interval._mpi_)


def encloses(interval, value: mpf, width: float) -> bool:
    low, high = ends(interval)
    return low <= value <= high and high - low <= width * (1 + abs(value))


def test_exp_of_a_narrow_interval_holds_the_exponentials_of_its_ends():
    """One exponential times 1 + δ + δ², wider by little; and a factor 1 + δ/2 in its place is seen to miss the end."""
    rng = random.Random(7)
    for bits in (53, 192, 256):
        for width in (2**-33, 2**-60, 2.0 ** -(bits + 20)):
            before, iv.prec = iv.prec, bits
            low = iv.mpf(rng.randint(-4000, 4000)) / 64
            narrow = iv.mpf([low.a, (low + width).b])
            found = second.iv.exp(narrow)
            short = quick_intervals.context.exp(narrow.a) * (1 + width / 2)
            iv.prec = before
            with mp.workprec(2 * bits + 200):
                true = [mp.exp(end) for end in ends(narrow)]
                least, largest = ends(found)
                assert least <= true[0] < true[1] <= largest
                assert largest - least <= (true[1] - true[0]) * (1 + mpf(2) ** -30) + true[1] * mpf(2) ** (8 - bits)
                assert width < 2.0 ** (10 - bits) or ends(short)[1] < true[1]


def test_it_imports_nothing_from_the_project():
    tree = ast.parse(Path(second.__file__).read_text(encoding="utf-8"))
    modules = [a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names]
    modules += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name.partition(".")[0] for name in modules} == {
        "__future__",
        "collections",
        "fractions",
        "functools",
        "types",
        "typing",
        "verification",  # of it the file beside, which imports mpmath
    }


numbers = st.one_of(
    st.fractions(max_denominator=10**40),
    st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False).map(Fraction),
    st.integers(-(10**400), 10**400).map(Fraction),
)


@given(value=numbers)
def test_a_number_is_read_as_an_interval_around_it(value: Fraction):
    text = encode_number(value)
    assert decode_number(text, "here") == value
    with mp.workdps(900):
        assert encloses(second.number(text), mpf(value.numerator) / value.denominator, 2.0**-51)


@pytest.mark.parametrize("end", ["inf", "nan", "1e40"])
def test_tanh_of_ends_without_measure_is_within_plus_and_minus_1(end: str):
    """And no hang: an end may be infinite, and that of an overflow is no number."""
    for interval in (iv.mpf([mpf(end), mpf(end)]), iv.mpf([-1, mpf(end)]), iv.mpf([-mpf(end), 1])):
        low, high = ends(second.tanh(interval))
        assert -1 <= low <= high <= 1
        assert low <= mp.tanh(-1) or interval.a > 0
        assert high >= mp.tanh(1) or interval.b < 0


@pytest.mark.parametrize("bits", [53, 256])
def test_tanh_and_the_logistic_function_are_enclosed(bits: int):
    before, iv.prec = iv.prec, bits
    try:
        with mp.workdps(400):
            for k in range(-60, 61):
                x = mpf(k) / 3 + mpf(k) ** 3 / 7919
                exact = iv.mpf(k) / 3 + iv.mpf(k) ** 3 / 7919
                assert encloses(second.tanh(exact), mp.tanh(x), 2.0 ** (20 - bits))
                assert encloses(second.logistic(exact), 1 / (1 + mp.exp(-x)), 2.0 ** (20 - bits))
                wide = iv.mpf([(exact - 1).a, (exact + 1).b])
                low, high = ends(second.tanh(wide))
                assert low <= mp.tanh(x - 1) and mp.tanh(x + 1) <= high
    finally:
        iv.prec = before


@pytest.mark.parametrize(("seed", "layers"), NETWORKS)
@pytest.mark.parametrize(("quantity", "norm"), [*itertools.product(("position", "momentum"), ("max", "euclidean"))])
def test_intervals_enclose_the_norm_of_the_point_trajectory(
    seed, layers, quantity, norm, random_instance, point_trajectory, norm_of_points
):
    instance = random_instance(seed, layers=layers, steps=8)
    with mp.workdps(DIGITS + 20):
        y, z = point_trajectory(instance)
        points = y if quantity == "position" else z
        for number in range(1, layers + 1):
            seen = []

            def bound(setting, iv, seen=seen):
                seen.append(setting)
                return iv.mpf(0)

            found = second.decide(
                to_plain(instance), layer=number, step=8, steps=40, quantity=quantity, norm=norm, bound=bound
            )
            expected = norm_of_points(points[number - 1], norm)
            assert found["measured"] == pytest.approx([float(mp.log(expected))] * 2, abs=1e-13)
            assert found["status"] == ("violates" if expected > 1 else "holds")
            setting, dt = seen[0], instance.layers[number - 1].dt
            assert (setting.step, setting.steps, setting.hidden_size) == (8, 40, 6)
            for interval, value in ((setting.dt, dt), (setting.time, 8 * dt), (setting.horizon, 40 * dt)):
                assert encloses(interval, mpf(value.numerator) / value.denominator, 1e-70)


def test_fewer_bits_give_wider_intervals_and_in_the_end_no_decision(random_instance):
    instance = random_instance(2, layers=3)
    widths, statuses = [], []

    for bits in (16, 53, 256):
        found = second.decide(
            to_plain(instance),
            layer=3,
            step=instance.steps,
            steps=instance.steps,
            quantity="momentum",
            norm="max",
            bound=lambda setting, iv: iv.log(iv.mpf(1) / 10**9),
            bits=bits,
        )
        statuses.append(found["status"])
        if found["measured"] is not None:
            widths.append(found["measured"][1] - found["measured"][0])
    assert statuses[-1] == "violates" and "holds" not in statuses
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize(("bits", "status"), [(128, "undecided"), (256, None)])
def test_a_slack_below_the_precision_is_undecided_on_both_sides(bits, status, random_instance, measured_value):
    instance = random_instance(4, layers=2)
    value = measured_value(instance, 2, "position", "max")
    for sign, decided in ((-1, "violates"), (1, "holds")):
        text = encode_number(value * (1 + sign * Fraction(1, 10**45)))
        found = second.decide(
            to_plain(instance),
            layer=2,
            step=instance.steps,
            steps=instance.steps,
            quantity="position",
            norm="max",
            bound=lambda s, iv, text=text: iv.log(second.number(text)),
            bits=bits,
        )
        assert found["status"] == (status or decided)


def test_a_zero_state_is_proved_small_and_one_step_too_many_is_refused(random_instance):
    plain = to_plain(random_instance(0, layers=1, steps=4))
    for group in plain["layers"][0]["groups"]:
        group["bias"] = "0"
    plain["inputs"]["runs"] = [[4, ["0"]]]
    asked = {"layer": 1, "quantity": "position", "norm": "max", "bound": lambda s, iv: iv.mpf(0), "steps": 9}
    assert second.decide(plain, step=4, **asked)["status"] == "holds"
    with pytest.raises(ValueError, match="step 5 lies beyond the 4 inputs"):
        second.decide(plain, step=5, **asked)


def test_one_saturated_step_is_known_in_closed_form():
    plain = {
        "alpha": "7",
        "layers": [
            {
                "dt": "1/10",
                "groups": [{"multiplicity": 9, "w": "-3", "c": "0", "bias": "1"}],
                "input_weights": [["2", "-1"]],
            }
        ],
        "inputs": {"size": 2, "runs": [[1, ["3", "5"]]]},
    }
    for quantity, power in (("position", 2), ("momentum", 1)):
        for norm, factor in (("max", 1.0), ("euclidean", 3.0)):
            found = second.decide(
                plain, layer=1, step=1, steps=1, quantity=quantity, norm=norm, bound=lambda s, iv: iv.mpf(0)
            )
            expected = math.log(factor * math.tanh(2.0) * 0.05**power)  # x = 2·3 − 5 + 1, h = 1/20
            assert found["measured"] == pytest.approx([expected] * 2, abs=1e-13)
            assert found["status"] == "holds"


SETTINGS = [  # α, dt, n, N, m, c of the groups: both sides of 2α = 1, of αh² = 4 and of α = 0
    ("1/7", "1/3", 3, 9, 1, ("0",)),
    ("1/7", "9/10", 1, 1, 5, ("-1/2", "3")),
    ("40", "1/10", 6, 8, 128, ("20",)),
    ("13", "63/500", 12, 40, 128, ("20", "-20", "1/3")),
    ("25", "9/10", 4, 4, 2, ("1", "2")),
    ("0", "49/100", 7, 8, 3, ("1", "2")),
]


@pytest.mark.parametrize("registered", list(Registry().state_bounds()), ids=lambda registered: registered.claim.id)
def test_both_typings_of_every_shipped_bound_enclose_the_same_number(registered):
    compared = 0
    before = iv.prec
    for alpha, dt, n, N, m, c in SETTINGS:
        with flint.ctx.workprec(256):
            h = [BALLS.exact(Fraction(dt)) / (1 + (-BALLS.exact(Fraction(value))).exp()) for value in c]
            setting = Setting.of(
                BALLS, alpha=Fraction(alpha), dt=Fraction(dt), step=n, steps=N, hidden_size=m, step_sizes=h
            )
            if not all(holds for *_, holds in admissible(registered.claim.bound, setting)):
                continue
            try:
                iv.prec = 256
                d = second.number(dt)
                plain = SimpleNamespace(
                    alpha=second.number(alpha),
                    dt=d,
                    step=n,
                    steps=N,
                    hidden_size=m,
                    time=n * d,
                    horizon=N * d,
                    step_sizes=[d * second.logistic(second.number(value)) for value in c],
                )
                for part in registered.claim.bound.parts:
                    ball, interval = part.bound(setting, BALLS), part.second_bound(plain, iv)
                    low, high = (flint.arb(mp.nstr(end, 60)) for end in ends(interval))
                    slack = flint.arb(0, 1e-55) * (1 + abs(ball))
                    assert (ball + slack).overlaps(low) and (ball + slack).overlaps(high)
                    assert not (ball + slack).overlaps(low + flint.arb("1e-40"))
                    compared += 1
            finally:
                iv.prec = before
    assert compared >= len(registered.claim.bound.parts)


@pytest.mark.parametrize("precisions", [pytest.param((53, 128, 256), marks=pytest.mark.slow), (256,)], ids=str)
def test_exp_and_log_of_the_second_back_end_are_enclosures(precisions: tuple[int, ...]):
    """mpmath's own interval exp misses e^(1412/1024) at 256 bits; the widened one must not miss anywhere."""
    before = second.iv.prec
    rng = random.Random(0)
    missed = 0
    for bits in precisions:
        second.iv.prec = bits
        for k in [1412, *(rng.randrange(1, 5000) for _ in range(2000))]:
            x = iv.mpf(k) / 1024
            with mp.workprec(bits + 200):
                point = mpf(k) / 1024
                for widened, own, true in (
                    (second.iv.exp(x), quick_intervals.context.exp(x), mp.exp(point)),
                    (second.iv.log(x), quick_intervals.context.log(x), mp.log(point)),
                ):
                    assert mpf(widened.a) <= true <= mpf(widened.b)
                    missed += not mpf(own.a) <= true <= mpf(own.b)
    second.iv.prec = before
    assert missed >= 1, "mpmath's own ends enclose everywhere tried: the widening is no longer needed"
