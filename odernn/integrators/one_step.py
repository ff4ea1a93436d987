"""One step of any Runge–Kutta method on any field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from odernn.fields.field import DenseForm, Field, State
from odernn.integrators.batch_rows import BatchRows, batch_rows
from odernn.integrators.coefficients import FloatCoefficients, Scheme, coefficients_for
from odernn.integrators.explicit import Slopes, evaluate, new_state
from odernn.integrators.explicit_rows import explicit_rows, explicit_table
from odernn.integrators.implicit import GroupTables, solve_group, tables_of
from odernn.integrators.linear import Propagator, propagator
from odernn.integrators.newton import Newton
from odernn.integrators.stage_system import StageSystem, drives_of, stage_system


@dataclass(frozen=True, eq=False)
class StepReport:
    """The new state, and how well its stage equations were solved.

    residual    (...), max over stages and components of |h (k_i − f(Y_i))|, one a sample; None where nothing was
                solved for by iteration: explicit methods, linear fields
    taken       how many iterations: a number, or a tensor () that a graph can hold; ``iterations`` is the number
    converged   (...), one a sample
    """

    state: State
    residual: Tensor | None
    taken: int | Tensor
    converged: Tensor

    @property
    def iterations(self) -> int:
        """Of Newton's method, the most that one group of stages took; 0 where there was none."""
        return int(self.taken)


@dataclass(frozen=True, eq=False)
class Step:
    """A method with a field and a step size, and whatever of it depends on these alone: see ``prepared``."""

    coefficients: FloatCoefficients
    field: Field
    step_size: Tensor | float
    newton: Newton
    propagator: Propagator | None
    tables: tuple[GroupTables | None, ...]
    form: DenseForm | None
    system: StageSystem | None

    @property
    def stage_times(self) -> tuple[float, ...]:
        """c_1, …, c_s: stage i sees the drive of the time t₀ + c_i h. Of a pair of methods, c of the positions' method.

        For a pair, time is one more position, t' = 1, so that both slopes of stage i, the one of the positions and
        the one of the momenta, are evaluated at (Y_i, Z_i, t₀ + c_i h). That keeps the order of the pair.
        """
        return self.coefficients.c

    def __call__(self, state: State, drives: Tensor | Sequence[Tensor]) -> StepReport:
        """x₀ → x₁.   state: blocks (..., hidden); drives (..., drive_size): one for the step, or one a stage.

        The leading axes of state, drives and step size broadcast. Differentiable in every tensor, to all orders.
        Raises ValueError for a wrong number of blocks or drives; ConvergenceError, see ``Newton``.
        """
        self._check(state, drives)
        is_explicit = self.propagator is None and self.system is None and not any(self.tables)
        if is_explicit or any(block.dim() for block in state):
            return self._stepped(tuple(state), drives)
        # Numbers without axes are one neuron.
        seen = torch.atleast_1d(drives) if isinstance(drives, Tensor) else [torch.atleast_1d(d) for d in drives]
        report = self._stepped(tuple(block.reshape(1) for block in state), seen)
        return replace(report, state=tuple(block.squeeze(-1) for block in report.state))

    def _stepped(self, start: State, given: Tensor | Sequence[Tensor]) -> StepReport:
        if self.propagator is not None:
            end = self.propagator(self.field, start, given)
            return StepReport(end, None, 0, _all_true(end))
        if self.system is not None:
            return self._solved(self.system, start, [given] if isinstance(given, Tensor) else list(given))
        drives = [given] * len(self.coefficients.c) if isinstance(given, Tensor) else list(given)
        slopes: Slopes = tuple({} for _ in start)
        residual, converged, iterations = None, None, 0
        for group, table in zip(self.coefficients.groups, self.tables, strict=True):
            if table is None:
                evaluate(self.coefficients, self.field, group, start, drives, slopes, self.step_size)
                continue
            own_residual, own_converged, own_iterations = solve_group(
                self.coefficients, self.field, group, table, start, drives, slopes, self.step_size, self.newton
            )
            residual = own_residual if residual is None else torch.maximum(residual, own_residual)
            converged = own_converged if converged is None else converged & own_converged
            iterations = max(iterations, own_iterations)
        end = new_state(self.coefficients, start, slopes, self.step_size)
        return StepReport(end, residual, iterations, _all_true(end) if converged is None else converged)

    def _solved(self, system: StageSystem, start: State, given: list[Tensor]) -> StepReport:
        """The step for all samples together, by the system of its stages."""
        leading = torch.broadcast_shapes(*(block.shape[:-1] for block in start), *(x.shape[:-1] for x in given))
        x, shift = (
            None if each is None else each.expand(*leading, -1).reshape(1, -1, each.shape[-1])
            for each in drives_of(self.form, system, given)
        )
        assert x is not None
        y = torch.cat([block.expand(*leading, self.field.hidden_size) for block in start], -1)
        found = batch_rows(self.label, system, (x, shift), y.reshape(-1, y.shape[-1]), self.newton, list(leading))
        state = found.rows.reshape(y.shape).chunk(len(start), -1)
        residual, converged = (each.reshape(leading) for each in (found.residual, found.converged))
        return StepReport(state, residual, found.iterations[0], converged)

    def rows(self, start: State, given: list[Tensor]) -> tuple[State, BatchRows | None] | None:
        """Step after step as one operator: the rows of the blocks, and how it went where something was solved for.

        None where there is no such operator.
        start  blocks (batch, hidden)      given  one drive for all stages, or one a stage, each (time, batch, drive)
        """
        if self.system is None:
            return self._explicit_rows(start, given)
        y, drives = torch.cat(start, -1), drives_of(self.form, self.system, given)
        found = batch_rows(self.label, self.system, drives, y, self.newton, [len(y)])
        return _blocks(found.rows, len(start)), found

    def _explicit_rows(self, start: State, given: list[Tensor]) -> tuple[State, None] | None:
        if self.form is None or self.propagator is not None or any(self.tables):
            return None
        table = explicit_table(self.coefficients)
        y = torch.cat(start, -1)
        rows = None if table is None else explicit_rows(self.form, table, self.step_size, given, y)
        return None if rows is None else (_blocks(rows, len(start)), None)

    @property
    def label(self) -> str:
        """What complaints call it."""
        return f'Tableau "{self.coefficients.name}" on the field {type(self.field).__name__}'

    def _check(self, state: State, drives: Tensor | Sequence[Tensor]) -> None:
        blocks, s = self.field.blocks, len(self.coefficients.c)
        if len(state) != len(blocks):
            raise ValueError(
                f"The state has {len(state)} blocks but the field {type(self.field).__name__} has {len(blocks)}: "
                f"{', '.join(blocks)}. Give a tuple with one tensor each."
            )
        if not isinstance(drives, Tensor) and len(drives) != s:
            raise ValueError(
                f'There are {len(drives)} drives but tableau "{self.coefficients.name}" has {s} stages. '
                "Give one tensor for the whole step, or one a stage, sampled at Step.stage_times."
            )
        if self.system is not None:
            given = [drives] if isinstance(drives, Tensor) else drives
            wanted = [("drive", each, self.field.drive_size) for each in given]
            wanted += [
                (f"block {name}", each, self.field.hidden_size) for name, each in zip(blocks, state, strict=True)
            ]
            for name, each, size in wanted:
                if each.dim() and each.shape[-1] != size:
                    raise ValueError(
                        f"The {name} has shape {tuple(each.shape)}, but its last axis has to have {size} entries."
                    )


def prepared(
    tableau: Scheme | FloatCoefficients,
    field: Field,
    step_size: Tensor | float,
    *,
    newton: Newton | None = None,
    as_operator: bool = True,
) -> Step:
    """A step of the method, with everything done that depends on weights alone.

        k_i = f(Y_i; drive_i),     Y_i = x₀ + h Σ_j a_ij k_j,     x₁ = x₀ + h Σ_i b_i k_i

    each block with its own table if the method is a pair. Hairer, Lubich, Wanner 2006, eq. (II.1.4) and (II.2.2).

    Explicit stages are evaluated, linear fields have their step in closed form, whatever else depends on itself is
    solved for by Newton's method, in the smallest groups that do. ``step_size`` is a number, or a tensor that
    broadcasts to (hidden,): one step a neuron, the same for all blocks. Valid as long as weights and step size are not
    changed in place. A function that torch.compile traces takes ``coefficients_for(tableau, field)``, made outside,
    as its tableau. ``as_operator`` False makes steps in torch's own operations, for whoever looks into them.
    Raises ValueError for a pair of methods on a field that has not two blocks.
    """
    return _prepared(tableau, field, step_size, newton, in_closed_form=field.is_linear, as_operator=as_operator)


def step(
    tableau: Scheme, field: Field, state: State, drive: Tensor | Sequence[Tensor], step_size: Tensor | float
) -> State:
    """One step x₀ → x₁ of ``prepared``, alone. The drive is held over the step, or given for each stage."""
    return _prepared(tableau, field, step_size, None, in_closed_form=None)(state, drive).state


def _prepared(
    tableau: Scheme | FloatCoefficients,
    field: Field,
    step_size: Tensor | float,
    newton: Newton | None,
    *,
    in_closed_form: bool | None,
    as_operator: bool = True,
) -> Step:
    """``in_closed_form`` None: for a single step, only if stages would have to be solved for."""
    coefficients = coefficients_for(tableau, field)
    is_implicit = any(group.is_implicit for group in coefficients.groups)
    closed = field.is_linear and is_implicit if in_closed_form is None else in_closed_form
    closed_form = propagator(coefficients, field, step_size) if closed else None
    is_solved = is_implicit and not closed
    form = field.dense_form() if as_operator and not closed else None
    system = stage_system(coefficients, field, form, step_size) if is_solved else None
    by_groups = is_solved and system is None
    tables = tables_of(coefficients, field) if by_groups else (None,) * len(coefficients.groups)
    return Step(coefficients, field, step_size, newton or Newton(), closed_form, tables, form, system)


def _blocks(rows: Tensor, count: int) -> State:
    """Side by side in ``rows``; each a view of its own, which may be changed in place, as those of chunk may not."""
    size = rows.shape[-1] // count
    return tuple(rows.narrow(-1, i * size, size) for i in range(count))


def _all_true(state: State) -> Tensor:
    shape = torch.broadcast_shapes(*(block.shape for block in state))
    return torch.ones(shape[:-1], dtype=torch.bool, device=state[0].device)
