"""IntegratorRNN: any vector field times any integrator."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from odernn.cells.common import arguments
from odernn.cells.common.exact_buffers import ExactBuffers
from odernn.cells.common.sequences import Sequences, State
from odernn.cells.recurrent import LayerRun, Manners, RecurrentLayer, RecurrentNetwork, StepFunction, stacked_rows
from odernn.executions.autocast import without_autocast
from odernn.fields.field import Field
from odernn.integrators import FloatCoefficients, Newton, Step, StepReport, coefficients_for, prepared
from odernn.integrators.batch_rows import BatchRows
from odernn.integrators.guarantees import Guarantees, InputRule, guarantees_of, order_on_inputs
from odernn.properties.symmetry import adjoint
from odernn.tableaus.methods import Method, forms_of, in_stages
from odernn.tableaus.tableau import ButcherTableau, PartitionedTableau, Tableau

__all__ = ["CELL", "InputRule", "IntegratorLayer", "IntegratorRNN", "LayerReport"]

INPUT_RULES: tuple[InputRule, ...] = ("hold", "linear", "given")


@dataclass(frozen=True)
class LayerReport:
    """How well the stage equations of one layer were solved, over all steps.

    residual    (time, batch), max over stages and components of h |k_i − f(Y_i)|; None for explicit methods
    iterations  Newton iterations of each step
    converged   (time, batch)
    """

    residual: Tensor | None
    iterations: tuple[int, ...]
    converged: Tensor


@dataclass(frozen=True)
class ReportedRun(LayerRun):
    """States with the report of each step, or of all of them where they were made together."""

    steps: tuple[StepReport, ...]
    together: BatchRows | None = None

    def report(self) -> LayerReport:
        """The reports of all steps in one; without a step, of no iterations and nothing that failed."""
        if self.together is not None:
            iterations = tuple(map(int, self.together.iterations))
            return LayerReport(self.together.residual, iterations, self.together.converged)
        if not self.steps:  # of an explicit method, made together
            shape = self.rows[0].shape[:2]
            return LayerReport(None, (0,) * shape[0], torch.ones(shape, dtype=torch.bool, device=self.rows[0].device))
        residuals = [step.residual for step in self.steps if step.residual is not None]
        return LayerReport(
            torch.stack(residuals) if residuals else None,
            tuple(step.iterations for step in self.steps),
            torch.stack([step.converged for step in self.steps]),
        )


class FieldParameters(ExactBuffers):
    """A field whose weights are parameters and whose hyperparameters are exact buffers."""

    def __init__(self, field: Field, *, device: torch.device | str | None, dtype: torch.dtype | None) -> None:
        super().__init__()
        # The template only says how a field is put together: it keeps no numbers of the weights, and no graph.
        self._template = field.with_tensors({name: getattr(field, name).detach().to("meta") for name in field.weights})
        self._hyperparameters: list[str] = []
        for item in dataclasses.fields(field):
            value = getattr(field, item.name)
            if item.name in field.weights:
                weight = value.detach().clone().to(device=device, dtype=dtype)
                self.register_parameter(item.name, nn.Parameter(weight))
            elif isinstance(value, (Tensor, float, int)) and not isinstance(value, bool):
                numbers = value.tolist() if isinstance(value, Tensor) else float(value)
                check = functools.partial(_check_hyperparameter, self._template, item.name)
                self.register_exact(item.name, numbers, check, device=device)
                self._hyperparameters.append(item.name)

    def value(self) -> Field:
        """The field with the weights as they are now."""
        weights = {name: getattr(self, name) for name in self._template.weights}
        dtype = next(iter(weights.values())).dtype
        return self._template.with_tensors(
            weights | {name: getattr(self, name).to(dtype) for name in self._hyperparameters}
        )


def _check_hyperparameter(field: Field, name: str, values: Sequence[float]) -> None:
    """What the field's own constructor says about each value."""
    for value in values:
        if isinstance(value, float):
            dataclasses.replace(field, **{name: value})


class IntegratorLayer(RecurrentLayer):
    """One layer in one direction: drive x = V u + b, then one step of the method on the field.

    as_operator  whether steps are operators of their own; False: in torch's operations, see ``prepared``
    """

    as_operator: bool = True

    def __init__(
        self,
        input_size: int,
        field: Field,
        method: Tableau,
        dt: float,
        *,
        inputs: InputRule,
        learn_steps: bool,
        bias: bool,
        newton: Newton,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> None:
        self.state_names = field.blocks
        super().__init__(input_size * (method.stages if inputs == "given" else 1), field.hidden_size)
        self.method = method
        self.inputs, self.newton = inputs, newton
        self.field = FieldParameters(field, device=device, dtype=dtype)
        self.register_exact("dt", dt, functools.partial(arguments.positive, "dt"), device=device)
        self.V = nn.Parameter(torch.empty(field.drive_size, input_size, device=device, dtype=dtype))
        self.b = nn.Parameter(torch.empty(field.drive_size, device=device, dtype=dtype)) if bias else None
        self.c = nn.Parameter(torch.empty(field.hidden_size, device=device, dtype=dtype)) if learn_steps else None

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """V and b ~ U(−r, r), r = 1/√input as in torch.nn.Linear; c ~ U(−0.1, 0.1). The field keeps its weights."""
        r = self.V.shape[1] ** -0.5
        for weight, bound in ((self.V, r), (self.b, r), (self.c, 0.1)):
            if weight is not None:
                nn.init.uniform_(weight, -bound, bound, generator=generator)

    def step_sizes(self) -> Tensor:
        """h = dt, or dt σ̂(c) a neuron with learnable steps: () or (hidden,), in the dtype of the parameters."""
        dt = cast(Tensor, self.dt).to(self.V.dtype)
        return dt if self.c is None else dt * torch.sigmoid(self.c)

    def prepared(self) -> Step:
        """The step with everything that depends on weights alone evaluated."""
        field, table = self.field.value(), self.coefficients()
        return prepared(table, field, self.step_sizes(), newton=self.newton, as_operator=self.as_operator)

    @torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]  # exact numbers are not traced
    def coefficients(self) -> FloatCoefficients:
        """The method in floats; a method of the layer, since torch 2.11 takes no exact one as an argument here."""
        return coefficients_for(self.method, self.field.value())

    def guarantees(self) -> Guarantees:
        """What the method and the field imply for the weights as they are now."""
        return guarantees_of(self.method, self.field.value(), self.step_sizes(), inputs=self.inputs)

    def drives(self, below: Tensor) -> Tensor:
        """x = V u + b, (..., drive); with stage inputs given, (..., stages, drive)."""
        if self.inputs == "given":
            below = below.unflatten(-1, (self.method.stages, self.V.shape[1]))
        return nn.functional.linear(below, self.V, self.b)

    def stage_drives(self, below: Tensor, previous: Tensor | None, times: Sequence[float]) -> list[Tensor]:
        """What stages are given: one drive for all, or one a stage at t_{n−1} + c_i dt, each (time, batch, drive)."""
        dtype = self.V.dtype
        drives = self.drives(below).to(dtype)
        if self.inputs == "hold":
            return [drives]
        if self.inputs == "given":
            return list(drives.unbind(-2))
        assert previous is not None  # the constructor refuses the rule where there is no input before the first
        rows = torch.cat((self.drives(previous).to(dtype).unsqueeze(0), drives))
        return [torch.lerp(rows[:-1], rows[1:], c) for c in times]

    def step_drives(self, given: list[Tensor]) -> list[Any]:
        """``stage_drives`` step by step, as a step is called with them: one tensor, or one a stage."""
        steps = list(zip(*(each.unbind() for each in given), strict=True))
        return [drives[0] for drives in steps] if self.inputs == "hold" else [list(drives) for drives in steps]

    def run(self, below: Tensor, state: State, previous: Tensor | None) -> ReportedRun:
        with without_autocast(below):
            step = self.prepared()
        given = self.stage_drives(below, previous, step.stage_times)
        with without_autocast(below):
            at_once = step.rows(state, given)
            if at_once is not None:
                return ReportedRun(at_once[0], state, (), at_once[1])
            current, reports = state, []
            for drives in self.step_drives(given):
                report = step(current, drives)
                current = report.state
                reports.append(report)
        return ReportedRun(stacked_rows([report.state for report in reports], state), state, tuple(reports))

    def stepper(self) -> StepFunction:
        step = self.prepared()
        return lambda state, drive: step(state, drive).state

    def back_stepper(self) -> StepFunction:
        """The adjoint method with step −h, Φ_h⁻¹ = Φ*_{−h}: explicit for shears, else its stages are solved for."""
        if self.inputs != "hold":
            raise NotImplementedError(
                f'inputs="{self.inputs}" gives each stage its own drive, and the inverse is built for held drives '
                'only. Use inputs="hold" or keep the states of the forward pass.'
            )
        back = cast(Tableau, adjoint(self.method))
        step = prepared(back, self.field.value(), -self.step_sizes(), newton=self.newton)
        return lambda state, drive: step(state, drive).state


class IntegratorRNN(RecurrentNetwork):
    """x_n = Φ_h(x_{n−1}; V u_n + b): one step of any Runge–Kutta method Φ on any field a time step.

        k_i = f(Y_i; drive_i),     Y_i = x_{n−1} + h Σ_j a_ij k_j,     x_n = x_{n−1} + h Σ_i b_i k_i

    field       ``odernn.fields``: its tensors are the initial weights. One field: every layer and direction starts
                from a copy of it. A sequence: one a layer (and direction, forward before reverse).
    integrator  any tableau, partitioned method or composition of this library; of collocation families whose
                coefficients have no closed form, the .rounded() method
    dt          step size, positive, one number or one a layer; a float64 buffer, also in ``state_dict``
    learn_steps True: h = dt σ̂(c), one learnable step a neuron, 0 < h < dt; else h = dt
    inputs      what a stage at t_{n−1} + c_i dt sees of inputs u_n = u(t_n), t_n = n dt:
                "hold"    u_n in the whole step, what a recurrent network does: order 1 for a smooth u
                "linear"  (1 − c_i) u_{n−1} + c_i u_n: order at most 2. u_0 is ``previous_input``, zero if not given
                "given"   u at the stage times: the order of the method. The input is (time, batch, stages · input),
                          the stages of a step side by side; for one layer
                ``order_on_inputs`` says it in numbers. Stage times are those of the *positions* of partitioned methods.
    newton      how stage equations of implicit methods are solved, and whether a failure raises or warns

    input  u : (time, batch, input)      output  y : (time, batch, hidden)      state  (y, z), or y, of the field
    """

    holds: ClassVar[str] = (
        "what method and field imply together: contraction, an energy law, symplecticity, invertibility, with what "
        "decides it (guarantees(), inverse())"
    )

    @classmethod
    def suggest(cls, steps: int, *, memory: float | None = None, hidden_size: int | None = None) -> dict[str, Any]:
        """NotImplementedError: the field is yours, and its constants bound dt; ``guarantees`` says what follows."""
        raise NotImplementedError(
            "IntegratorRNN takes any field, and only its constants say which dt is stable. Make it, and look at "
            "guarantees(); the named cells have suggestions."
        )

    def __init__(
        self,
        field: Field | Sequence[Field],
        integrator: Method,
        dt: float | Sequence[float],
        *,
        input_size: int,
        num_layers: int = 1,
        inputs: InputRule = "hold",
        learn_steps: bool = False,
        newton: Newton | None = None,
        bias: bool = True,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **manners: Unpack[Manners],
    ) -> None:
        directions = 2 if manners.get("bidirectional", False) else 1
        count = arguments.positive_integer("num_layers", num_layers) * directions
        fields = _checked_fields(field, count)
        super().__init__(input_size, fields[0].hidden_size, num_layers, **manners)
        self.integrator = _checked_method(integrator, fields[0])
        self.inputs = _checked_rule(inputs, num_layers, self.bidirectional)
        steps, waiting = arguments.per_layer("dt", dt, num_layers), iter(fields)
        solver = _checked_newton(newton)
        self.layers = self.stacked(  # type: ignore[assignment]
            lambda number, size: IntegratorLayer(
                size,
                next(waiting),
                self.integrator,
                steps[number - 1],
                inputs=inputs,
                learn_steps=learn_steps,
                bias=bias,
                newton=solver,
                device=device,
                dtype=dtype,
            )
        )
        self.reset_parameters(generator)

    def forward(
        self,
        input: Tensor | PackedSequence,
        state: Any = None,
        *,
        lengths: Tensor | Sequence[int] | None = None,
        previous_input: Tensor | None = None,
    ) -> tuple[Any, Any]:
        """As in every cell; previous_input (batch, input) is u_0 of the rule "linear", zero if not given."""
        self._check_stage_inputs(input)
        sequences = self.sequences_of(input, state, lengths)
        output, runs = self.run_layers(sequences, self.row_before(sequences, previous_input))
        return sequences.output(output), self.final_state(sequences, runs)

    @torch.no_grad()
    def report(
        self,
        input: Tensor | PackedSequence,
        state: Any = None,
        *,
        lengths: Tensor | Sequence[int] | None = None,
        previous_input: Tensor | None = None,
    ) -> tuple[LayerReport, ...]:
        """How well the stage equations were solved, layer by layer in torch's order; without gradients.

        What lies beyond a sample's own end is solved for a zero input, and counts, too.
        """
        sequences = self.sequences_of(input, state, lengths)
        _, runs = self.run_layers(sequences, self.row_before(sequences, previous_input))
        return tuple(cast(ReportedRun, run).report() for run in runs)

    def order_on_inputs(self) -> int:
        """The order of the whole for smooth inputs: that of the method, but at most 1 for "hold", 2 for "linear"."""
        return order_on_inputs(self.integrator, self.inputs)

    def _check_stage_inputs(self, input: Tensor | PackedSequence) -> None:
        """With inputs="given", say what the last axis is before a count of it is found wrong."""
        wanted = self.layers[0].input_size
        if self.inputs == "given" and isinstance(input, Tensor) and input.dim() and input.shape[-1] != wanted:
            raise ValueError(
                f'input has shape {tuple(input.shape)}, but with inputs="given" its last axis holds the inputs at the '
                f"{self.integrator.stages} stages of a step side by side: {self.integrator.stages} · {self.input_size} "
                f"= {wanted} numbers."
            )

    def row_before(self, sequences: Sequences, previous_input: Tensor | None) -> Tensor | None:
        """``previous_input`` after validation, as a batch."""
        if previous_input is None:
            return None
        if self.inputs != "linear":
            raise ValueError(
                f'previous_input is given, but inputs="{self.inputs}" never looks back at u_0. '
                'Leave it out or use inputs="linear".'
            )
        return sequences.row_before(previous_input, self.layers[0].V)

    def shown_options(self) -> list[str]:
        first = self.layers[0]
        parts = [f'field={type(first.field.value()).__name__}, integrator="{self.integrator.name}"']
        dt = "?" if first.dt.is_meta else f"{float(first.dt)!r}"
        return [*parts, f"dt={dt}", f"learn_steps={first.c is not None}", f"inputs={self.inputs!r}"]


CELL = IntegratorRNN


def _checked_fields(field: Field | Sequence[Field], count: int) -> list[Field]:
    """One field for each layer and direction, of one size."""
    is_list = isinstance(field, Sequence) and not isinstance(field, str)
    fields: list[Any] = list(field) if is_list else [field] * count  # type: ignore[arg-type]
    for entry in fields:
        if not isinstance(entry, Field):
            raise TypeError(
                f"field is {entry!r}, but it is a field of odernn.fields with its initial weights, for example "
                "fields.Antisymmetric.random(64, gamma=0.1), or a sequence of fields."
            )
        if not _is_one_field(entry):
            raise ValueError(
                f"field is {type(entry).__name__} for many fields at once: its value at one state of size "
                f"{entry.hidden_size} has leading axes. Give a field with one set of weights."
            )
    if len(fields) != count:
        raise ValueError(
            f"field has {len(fields)} entries but there are {count} layers and directions. Give one field, or one each."
        )
    shapes = {(entry.hidden_size, entry.blocks) for entry in fields}
    if len(shapes) > 1:
        listed = ", ".join(f"{type(entry).__name__} of size {entry.hidden_size}" for entry in fields)
        raise ValueError(f"The fields differ in size or in the blocks of their state: {listed}. Give fields alike.")
    return fields


@torch.no_grad()
def _is_one_field(field: Field) -> bool:
    """Whether f at one state (hidden,) is (hidden,) again, without the leading axes of a batch of weights."""
    like = next(iter(field.tensors().values()))
    zero = like.new_zeros(field.hidden_size)
    values = field((zero,) * len(field.blocks), like.new_zeros(field.drive_size))
    return all(value.shape == zero.shape for value in values)


def _checked_method(integrator: Method, field: Field) -> Tableau:
    """The method in stages, for a state of the blocks of the field."""
    try:
        method = in_stages(integrator)
        forms_of(method)
    except TypeError:
        hint = f"Look it up: tableaus.get({integrator!r})." if isinstance(integrator, str) else "Give a tableau."
        raise TypeError(f"integrator is {integrator!r}, which is no Runge–Kutta method. {hint}") from None
    if not isinstance(method, ButcherTableau | PartitionedTableau):
        raise ValueError(
            f"The stages of {integrator} have no closed coefficients. Use its .rounded(): its coefficients are floats."
        )
    if isinstance(method, PartitionedTableau) and len(field.blocks) != 2:
        raise ValueError(
            f'"{method.name}" treats positions and momenta differently, but the state of {type(field).__name__} has '
            f"one block. Use a ButcherTableau, or a field with blocks (y, z)."
        )
    return method


def _checked_newton(newton: Newton | None) -> Newton:
    if newton is not None and not isinstance(newton, Newton):
        raise TypeError(f'newton is {newton!r}, but it is the options of the solver: Newton(on_failure="warn"), say.')
    return newton or Newton()


def _checked_rule(inputs: InputRule, num_layers: int, bidirectional: bool) -> InputRule:
    arguments.one_of("inputs", inputs, INPUT_RULES)
    if inputs == "linear" and bidirectional:
        raise ValueError(
            'inputs="linear" looks back at the input before the first, which the reverse direction does not have. '
            'Use inputs="hold", or one direction.'
        )
    if inputs == "given" and (num_layers > 1 or bidirectional):
        raise ValueError(
            f'inputs="given" needs the inputs at the stage times, and only the first of {num_layers} layers could have '
            'them in one direction. Use one layer and one direction, or inputs="linear".'
        )
    return inputs
