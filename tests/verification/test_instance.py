"""An instance is exact: what is written is what is read, and what is no instance is refused with the field's name."""

import copy
import tracemalloc
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verification.instance import (
    MAX_DIGITS,
    MAX_GROUPS,
    MAX_STEPS,
    Group,
    Inputs,
    Instance,
    InstanceError,
    Layer,
    decode_number,
    encode_number,
    from_plain,
    is_float64,
    shown,
    to_plain,
)

TOO_LARGE = Fraction(10**MAX_DIGITS)

fractions = st.builds(Fraction, st.integers(-(10**30), 10**30), st.integers(1, 10**30))
floats = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=True).map(Fraction)
integers = st.integers(-(10**400), 10**400).map(Fraction)
numbers = st.one_of(fractions, floats, integers)


# --- numbers ----------------------------------------------------------------------------------------------------


@given(numbers)
def test_a_number_is_read_as_it_was_written(value):
    text = encode_number(value)
    assert type(text) is str
    assert decode_number(text, "x") == value


@given(st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=True))
def test_every_float64_is_read_from_its_own_hex_form(value):
    assert decode_number(value.hex(), "x") == Fraction(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", Fraction(0)),
        ("-7", Fraction(-7)),
        ("-1/3", Fraction(-1, 3)),
        ("2/4", Fraction(1, 2)),
        ("0x1.8p+1", Fraction(3)),
        ("-0x0.0p+0", Fraction(0)),
        ("0x0.0000000000001p-1022", Fraction(1, 2**1074)),
        ("0x1.fffffffffffffp+1023", Fraction(2**1024 - 2**971)),
        ("9" * MAX_DIGITS, Fraction(10**MAX_DIGITS - 1)),
    ],
)
def test_numbers_have_these_forms(text, value):
    assert decode_number(text, "x") == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        " 1",
        "1 ",
        "1\n",
        "+1",
        "1.5",
        "1e3",
        "inf",
        "nan",
        "0x1p+1",
        "0X1.8p+1",
        "0x1.8P+1",
        "0x2.0p+1",
        "1/0",
        "1/-3",
        "1/03",
        "１",
        "²",
        "--1",
        "1_000",
        "9" * (MAX_DIGITS + 1),
        "1/" + "9" * (MAX_DIGITS + 1),
        "0x1.8p+9999",
        "0x1.8p+1024",  # beyond the largest float64
        "0x1.8p-9999",
        "0x1.8p-1074",  # not exact as a float64: must not become 0, or 2·2⁻¹⁰⁷⁴
        1.5,
        3,
        True,
        None,
        [],
        {},
    ],
)
def test_anything_else_is_no_number(text):
    with pytest.raises(InstanceError, match=r"^layer 3\.w: ") as raised:
        decode_number(text, "layer 3.w")
    assert len(str(raised.value)) < 200


def test_a_number_that_could_not_be_read_back_is_not_written():
    for value in (TOO_LARGE + Fraction(1, 3), 1 / (TOO_LARGE + 1), -TOO_LARGE):
        with pytest.raises(InstanceError, match=f"at most {MAX_DIGITS} digits"):
            encode_number(value)
    assert decode_number(encode_number(TOO_LARGE - 1), "x") == TOO_LARGE - 1


@given(numbers)
def test_is_float64_asks_whether_rounding_changes_nothing(value):
    has_nearest = abs(value) < 2**1024 - 2**970  # half a unit above the largest float64, rounding overflows
    assert is_float64(value) == (has_nearest and Fraction(float(value)) == value)


# --- instances --------------------------------------------------------------------------------------------------


@st.composite
def instances(draw):
    hidden_size = draw(st.integers(1, 4))
    size = draw(st.integers(1, 3))
    layers, sources = [], size
    for _ in range(draw(st.integers(1, 3))):
        multiplicities = draw(st.sampled_from([[hidden_size], [1] * hidden_size]))
        groups = tuple(Group(k, draw(numbers), draw(numbers), draw(numbers)) for k in multiplicities)
        rows = tuple(tuple(draw(numbers) for _ in range(sources)) for _ in groups)
        layers.append(Layer(draw(numbers.filter(lambda dt: dt > 0)), groups, rows))
        sources = len(groups)
    runs = draw(
        st.lists(
            st.tuples(st.integers(1, 50), st.one_of(st.tuples(numbers), st.tuples(*[numbers] * size))),
            min_size=1,
            max_size=4,
        )
    )
    return Instance(draw(numbers), tuple(layers), Inputs(size, tuple(runs)))


@settings(deadline=None)
@given(instances())
def test_an_instance_is_read_as_it_was_written(instance):
    assert from_plain(to_plain(instance)) == instance


@settings(deadline=None)
@given(instances(), st.data())
def test_a_truncated_run_has_the_same_first_inputs(instance, data):
    steps = data.draw(st.integers(1, instance.steps))
    short = instance.truncated(steps)
    assert short.steps == steps
    assert list(short.inputs) == list(instance.inputs)[:steps]
    assert (short.alpha, short.layers, short.system) == (instance.alpha, instance.layers, instance.system)
    assert instance.truncated(instance.steps) == instance == instance.truncated(instance.steps + 5)


@given(st.lists(st.sampled_from([0.0, 1.5, -2.0]), min_size=1), st.integers(1, 3))
def test_inputs_from_values_merge_equal_neighbours_and_lose_nothing(values, size):
    inputs = Inputs.from_values(values, size)
    assert list(inputs) == [(Fraction(value),) * size for value in values]
    assert all(a != b for (_, a), (_, b) in zip(inputs.runs, inputs.runs[1:], strict=False))


def good():
    """A valid instance as plain data: two layers of three neurons, the first in two groups; two channels."""
    one, two = Fraction(1), Fraction(2)
    first = Layer(Fraction(1, 10), (Group(1, one, two), Group(2, two, one)), ((one, two), (two, one)))
    second = Layer(Fraction(1, 20), (Group(3, one, one),), ((one, two),))
    return to_plain(Instance(Fraction(1, 4), (first, second), Inputs(2, ((3, (one,)), (4, (one, two))))))


def changed(path, value):
    plain = copy.deepcopy(good())
    target = plain
    for name in path[:-1]:
        target = target[name]
    if value is DELETED:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    return plain


DELETED = object()
LAYER = ("layers", 0)
GROUP = (*LAYER, "groups", 0)
INPUTS = ("inputs",)

FAULTS = {
    "an unknown field": (("comment",), "hello", "unknown field 'comment'"),
    "an unknown field of a layer": ((*LAYER, "dT"), "1", r"layers\[1\]: unknown field 'dT'"),
    "an unknown field of a group": ((*GROUP, "W"), "1", r"groups\[0\]: unknown field 'W'"),
    "an unknown field of the inputs": ((*INPUTS, "N"), 7, "inputs: unknown field 'N'"),
    "a missing field": (("alpha",), DELETED, "field 'alpha' is missing"),
    "a missing field of a group": ((*GROUP, "bias"), DELETED, "field 'bias' is missing"),
    "a float for a string": (("alpha",), 0.25, r"alpha: expected str, found float"),
    "an integer for a string": ((*LAYER, "dt"), 1, r"dt: expected str, found int"),
    "a float in V": ((*LAYER, "input_weights"), [["1", "2"], ["1", 2.0]], "2.0 is no exact number"),
    "a bool for an integer": ((*GROUP, "multiplicity"), True, "multiplicity: expected int, found bool"),
    "a bool for the steps": ((*INPUTS, "steps"), True, "steps: expected int, found bool"),
    "a bool for a count": ((*INPUTS, "runs", 0, 0), True, r"runs\[0\]: expected \[count, \[values\]\]"),
    "a float for a count": ((*INPUTS, "runs", 0, 0), 3.0, r"runs\[0\]: expected \[count, \[values\]\]"),
    "a float for an integer": ((*GROUP, "multiplicity"), 1.0, "multiplicity: expected int, found float"),
    "another index convention": (("index",), "sam", "'sam' is not supported"),
    "a name with control characters": (("system",), "uni\x1b[31m", "printable"),
    "a name of a lone surrogate": (("system",), "\ud800", "printable"),
    "a name of a megabyte": (("system",), "u" * 10**6, "at most 100"),
    "no layer": (("layers",), [], "0 layers"),
    "65 layers": (("layers",), [good()["layers"][0]] * 65, "65 layers"),
    "a layer that is no object": ((*LAYER,), [], r"layers\[1\]: expected an object, found list"),
    "no group": ((*LAYER, "groups"), [], "0 groups"),
    "no neuron": ((*GROUP, "multiplicity"), 0, "multiplicity: 0"),
    "a negative number of neurons": ((*GROUP, "multiplicity"), -1, "multiplicity: -1"),
    "too many neurons": ((*GROUP, "multiplicity"), 10**6 + 1, "multiplicity: 1000001"),
    "layers of unequal size": ((*GROUP, "multiplicity"), 2, "layer 2 has 3 neurons but layer 1 has 4"),
    "a missing row of V": ((*LAYER, "input_weights"), [["1", "2"]], "expected 2 rows of 2 entries"),
    "a short row of V": ((*LAYER, "input_weights", 1), ["1"], "expected 2 rows of 2 entries"),
    "a row that is a string": ((*LAYER, "input_weights", 1), "12", "expected 2 rows of 2 entries"),
    "V between the wrong layers": (("layers", 1, "input_weights", 0), ["1", "2", "3"], r"layers\[2\].* 1 rows of 2"),
    "no time step": ((*LAYER, "dt"), "0", "dt: '0'; expected a positive step"),
    "a step backwards": ((*LAYER, "dt"), "-1/10", "expected a positive step"),
    "no channel": ((*INPUTS, "size"), 0, "size: 0"),
    "a billion channels": ((*INPUTS, "size"), 10**9, "size: 1000000000"),
    "no step": ((*INPUTS, "steps"), 0, "steps: 0"),
    "a negative number of steps": ((*INPUTS, "steps"), -7, "steps: -7"),
    "a billion steps": ((*INPUTS, "steps"), 10**9, "steps: 1000000000"),
    "runs that add up to more": ((*INPUTS, "steps"), 6, "add up to 7 steps, but steps is 6"),
    "runs that add up to less": ((*INPUTS, "steps"), 8, "add up to 7 steps, but steps is 8"),
    "no runs": ((*INPUTS, "runs"), [], "add up to 0 steps"),
    "more runs than steps": ((*INPUTS, "runs"), [[1, ["0"]]] * 8, "8 runs, but steps is 7"),
    "a count of 10¹⁸": ((*INPUTS, "runs", 0, 0), 10**18, "count of 1 to 7"),
    "a count of 0": ((*INPUTS, "runs", 0, 0), 0, "count of 1 to 7"),
    "a negative count": ((*INPUTS, "runs", 0, 0), -3, "count of 1 to 7"),
    "a value too many": ((*INPUTS, "runs", 1, 1), ["1", "2", "3"], "1 or 2 values"),
    "no value": ((*INPUTS, "runs", 1, 1), [], "1 or 2 values"),
    "a run with a third entry": ((*INPUTS, "runs", 0), [3, ["1"], 0], r"expected \[count, \[values\]\]"),
    "steps of 4,000 digits": ((*INPUTS, "steps"), 10**4000, "steps: 1000"),
}


def test_the_example_is_an_instance():
    assert to_plain(from_plain(good())) == good()
    assert from_plain(good()).hidden_size == 3


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_no_instance_is_refused_on_one_line_that_names_the_field(fault):
    path, value, message = FAULTS[fault]
    with pytest.raises(InstanceError, match=message) as raised:
        from_plain(changed(path, value))
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize("data", [None, [], "instance", 3, True])
def test_an_instance_is_an_object(data):
    with pytest.raises(InstanceError, match="expected an object"):
        from_plain(data)


@pytest.mark.parametrize("fault", ["a billion steps", "a billion channels", "a count of 10¹⁸", "too many neurons"])
def test_nothing_is_allocated_for_a_number_in_the_header(fault):
    path, value, _ = FAULTS[fault]
    plain = changed(path, value)
    tracemalloc.start()
    try:
        with pytest.raises(InstanceError):
            from_plain(plain)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**20


def test_a_long_run_takes_the_memory_of_a_short_one():
    plain = changed((*INPUTS, "runs"), [[10**6, ["1"]]])
    plain["inputs"]["steps"] = 10**6
    tracemalloc.start()
    try:
        instance = from_plain(plain)
        steps = instance.truncated(999_999).steps
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert steps == 999_999
    assert peak < 2**20


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(10**12 - 1), "999999999999"),
        (Fraction(-(10**12) + 1), "-999999999999"),
        (Fraction(10**12), (1e12).hex()),
        (Fraction(3, 4), "0x1.8000000000000p-1"),
        (Fraction(-3, 4), "-0x1.8000000000000p-1"),
        (Fraction(2) ** -1022, "0x1.0000000000000p-1022"),
        (Fraction(2) ** -1023, f"1/{2**1023}"),
        (Fraction(1, 3), "1/3"),
        (Fraction(10**13 + 1, 3), "10000000000001/3"),
    ],
)
def test_a_number_has_the_shortest_exact_form(value, text):
    """Integers of at most twelve digits, normal float64 numbers in hex, p/q for the rest."""
    assert encode_number(value) == text


def test_a_value_is_shown_on_sixty_letters():
    assert shown("a" * 58) == f"'{'a' * 58}'"
    assert shown("a" * 59) == f"'{'a' * 56}..."
    assert len(shown("a" * 59)) == 60


def test_the_limits_of_an_instance():
    assert (MAX_STEPS, MAX_GROUPS) == (1_000_000, 4096)
