"""The execution ``cpu``: fused numba kernels over column ranges. ``execution`` is its face."""
