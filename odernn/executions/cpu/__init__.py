"""The execution ``cpu``: fused numba kernels over column ranges. ``execution`` is its face."""

COLUMNS_A_THREAD = 8192
"""With fewer columns a second thread costs more than it brings. Two against one, measured on two cores: 0.9 times as
fast with 2048 to 4096 columns, 1.05 with 8192, and 1.2 with 16384, from where on there are two."""
