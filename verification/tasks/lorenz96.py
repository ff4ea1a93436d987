"""Lorenz 96 with five variables: from the state at every step, the state 25 steps later (Rusch & Mishra 2021, App. D).

    x_i′ = (x_{i+1} − x_{i−2}) x_{i−1} − x_i + F,   i = 1, …, 5 cyclic

F = 0.9 oscillates slowly, F = 8 is chaotic. Every sequence starts at its own point, uniform in the cube F ± 1/2, and is
computed in float64 by the classical Runge–Kutta method of order 4 with step dt; what happens before ``transient`` units
of time is dropped. The paper prints F, the number and length of the sequences, and the normalised error; the lead, dt
and the cube are those of a public repetition of it, and the transient is ours (docs/tasks.md has the evidence).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from verification.tasks.task import (
    BLOCK,
    SPLITS,
    Loaded,
    Root,
    TaskSpec,
    at_least,
    blocks,
    checksum,
    split_index,
    variance,
)

NAME = "lorenz96"
VARIABLES = 5
FORCINGS = (0.9, 8.0)
COUNT = 128
"""Sequences of each split, as published."""


def derivative(x: NDArray[np.float64], forcing: float) -> NDArray[np.float64]:
    """(x_{i+1} − x_{i−2}) x_{i−1} − x_i + F along the first axis."""
    return (np.roll(x, -1, axis=0) - np.roll(x, 2, axis=0)) * np.roll(x, 1, axis=0) - x + forcing


def step(x: NDArray[np.float64], dt: float, forcing: float) -> NDArray[np.float64]:
    """One step of the classical Runge–Kutta method."""
    k1 = derivative(x, forcing)
    k2 = derivative(x + dt / 2 * k1, forcing)
    k3 = derivative(x + dt / 2 * k2, forcing)
    k4 = derivative(x + dt * k3, forcing)
    return x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def load(
    split: str,
    root: Root = None,
    *,
    forcing: float = 8.0,
    steps: int = 2000,
    ahead: int = 25,
    dt: float = 0.01,
    transient: float = 10.0,
    count: int | None = None,
    seed: int = 0,
) -> Loaded:
    """(steps, count, 5) states, float32; (steps, count, 5) the states ``ahead`` steps later, float32.

    forcing    F;  steps   N;  dt   time between steps;  transient   time before the first step
    count      of sequences, by default 128: the first ones are the same whatever it is
    root       has no meaning here: there are no files
    The published figure is the error divided by the standard deviation, √(loss/baseline).
    Raises DataError for an unknown split, ValueError for an impossible size or where the numbers overflow.
    """
    at_least(NAME, "steps", steps, 1)
    at_least(NAME, "ahead", ahead, 1)
    count = COUNT if count is None else count
    for name, value in (("forcing", forcing), ("dt", dt), ("transient", transient)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError(f"{NAME}: {name} is {value!r}; it must be a finite number.")
    if dt <= 0 or transient < 0:
        raise ValueError(f"{NAME}: dt is {dt!r} and transient {transient!r}; needed are dt > 0 and transient ≥ 0.")
    starts = [
        (forcing - 0.5 + generator.random((VARIABLES, BLOCK)))[:, :kept]
        for kept, generator in blocks(NAME, split, count=count, seed=seed)
    ]
    states = trajectories(
        np.concatenate(starts, axis=1), steps=steps + ahead, dt=dt, forcing=forcing, skipped=round(transient / dt)
    )
    sequences, targets = np.ascontiguousarray(states[:steps]), np.ascontiguousarray(states[ahead:])
    spec = TaskSpec(
        name=f"{NAME}, F = {forcing:g}",
        split=SPLITS[split_index(NAME, split)],
        loss="squared error",
        reads="every",
        steps=steps,
        count=count,
        input_size=VARIABLES,
        output_size=VARIABLES,
        baseline=variance(targets),
        baseline_means="each variable's mean over the split: the mean of their variances",
        origin=f"Runge–Kutta 4 with dt = {dt:g} after {transient:g} units of time, {ahead} steps ahead, seed {seed}",
        sha256=checksum(sequences, targets),
        published_as="normalised root",
    )
    return sequences, targets, spec


def trajectories(
    x: NDArray[np.float64], *, steps: int, dt: float, forcing: float, skipped: int = 0
) -> NDArray[np.float32]:
    """(steps, count, variables) float32, from the states (variables, count) after ``skipped`` steps on."""
    states = np.empty((steps, x.shape[1], x.shape[0]), dtype=np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(skipped):
            x = step(x, dt, forcing)
        for row in states:
            row[:] = x.T
            x = step(x, dt, forcing)
    if not np.isfinite(states).all():
        raise ValueError(f"{NAME}: with dt = {dt:g} and F = {forcing:g} the numbers overflow. Choose a smaller dt.")
    return states
