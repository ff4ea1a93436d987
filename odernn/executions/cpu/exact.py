"""The states of the mode "exact" of the cpu execution, on grids of their own."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from odernn.executions.cpu.columns import Array, ColumnJob
from odernn.executions.cpu.drive import Drive
from odernn.executions.cpu.kernels import exact as kernels
from odernn.executions.cpu.kernels import lanes as lanes_of


class Grid:
    """The state of the exact mode: multiples of a grid for every column, in float64."""

    def __init__(self, job: ColumnJob) -> None:
        self.job = job
        self.states = np.zeros((job.rows, lanes_of.EXACT_LANES * lanes_of.PITCH))

    @staticmethod
    def of(drive: Drive, job: ColumnJob, lanes: Array, y0: Tensor, z0: Tensor) -> Grid:
        """Grids that the trajectory needs, by running it once: 2⁵³ g ≥ (1 + 2⁻¹⁰) max |y_n|, and so for z.

        Where it overflows, none: states beyond 2⁵³ times the finest grid are not rounded, and not stepped back to.
        """
        trial = lanes.copy()
        job.pack(trial, {lanes_of.MAX_Y: y0.abs(), lanes_of.MAX_Z: z0.abs()})
        for n0, n1 in drive.pieces():
            job.run(kernels.maxima, (drive.x(n0, n1), n0, trial, job.places))
        grid = Grid(job)
        for source, lane in ((lanes_of.MAX_Y, lanes_of.GRID_Y), (lanes_of.MAX_Z, lanes_of.GRID_Z)):
            grid._choose(lane, _grid_for(job.unpacked_sums(trial, source), 1 + 2.0**-10))
        return grid

    @staticmethod
    def restored(kept: Tensor, job: ColumnJob) -> Grid:
        grid = Grid(job)
        y, z, g_y, g_z = kept.numpy()
        grid._pack(lanes_of.EXACT_Y, y)
        grid._pack(lanes_of.EXACT_Z, z)
        grid._choose(lanes_of.GRID_Y, g_y)
        grid._choose(lanes_of.GRID_Z, g_z)
        return grid

    def kept(self) -> Tensor:
        """y_N, z_N and their grids, (4, batch, hidden)."""
        return torch.from_numpy(np.stack([self._lane(lane) for lane in (*_EXACT, lanes_of.GRID_Y, lanes_of.GRID_Z)]))

    def _lane(self, lane: int) -> Array:
        return self.job.unpacked_sums(self.states, lane)

    def _pack(self, lane: int, values: Array) -> None:
        flat = np.ascontiguousarray(values).reshape(self.job.columns)
        lanes_of.pack(self.states, lane, flat, self.job.places)

    def _choose(self, lane: int, g: Array) -> None:
        self._pack(lane, g)
        self._pack(lanes_of.PER_Y if lane == lanes_of.GRID_Y else lanes_of.PER_Z, 1.0 / g)

    def start(self, state: Array, lane: int) -> Array:
        """y0 or z0 rounded to the grid in ``lane``."""
        g = self._lane(lane)
        is_on_range = np.abs(state) / 2.0**53 <= g
        rounded: Array = np.where(is_on_range, np.rint(np.where(is_on_range, state, 0.0) / g) * g, state)
        return rounded

    def run(self, drive: Drive, lanes: Array, y: Array, z: Array) -> None:
        """All steps; where a state leaves the range of its grid, all of them again with a coarser one."""
        job = self.job
        firsts = [job.unpacked_sums(lanes, lane) for lane in (lanes_of.Y, lanes_of.Z)]
        tops = (lanes_of.TOP_Y, lanes_of.TOP_Z)
        while True:
            for first, lane, g, top in zip(firsts, _EXACT, _GRIDS, tops, strict=True):
                rounded = self.start(first, g)
                self._pack(lane, rounded)
                self._pack(top, np.abs(rounded))
            for n0, n1 in drive.pieces():
                job.run(kernels.exact_forward, (drive.x(n0, n1), y, z, n0, lanes, self.states, job.places))
            has_left = False
            for g, top in zip(_GRIDS, tops, strict=True):
                largest, used = self._lane(top), self._lane(g)
                leaves = (largest / 2.0**53 > used) & np.isfinite(largest)
                if leaves.any():
                    has_left = True
                    self._choose(g, np.where(leaves, _grid_for(largest, 2.0), used))
            if not has_left:
                return

    def check_returned(self, y0: Tensor, z0: Tensor) -> None:
        """Nothing, or RuntimeError if a finite state did not come back to the bit where it started."""
        for state, lane, g in zip((y0, z0), _EXACT, _GRIDS, strict=True):
            returned, expected = self._lane(lane), self.start(state.detach().double().numpy(), g)
            wrong = (returned != expected) & np.isfinite(returned) & np.isfinite(expected)
            if wrong.any():
                raise RuntimeError(
                    f'backward="exact" did not return to the initial state in {int(wrong.sum())} of {wrong.size} '
                    "neurons: the gradient would be wrong. This is an error of odernn; please report it."
                )


_EXACT = (lanes_of.EXACT_Y, lanes_of.EXACT_Z)
_GRIDS = (lanes_of.GRID_Y, lanes_of.GRID_Z)


def _grid_for(largest: Array, factor: float) -> Array:
    """The smallest power of two g with 2⁵³ g ≥ factor · largest, at least _FINEST; _FINEST if it is infinite."""
    is_finite = np.isfinite(largest)
    bounded = np.where(is_finite, largest, 0.0) * 2.0**-53 * factor
    grid: Array = np.where(is_finite, np.maximum(np.exp2(np.frexp(bounded)[1]), _FINEST), _FINEST)
    return grid


_FINEST = 2.0**-900
"""Its multiples and its inverse are ordinary numbers, as are those of the grid of the largest float64, 2⁹⁷²."""
