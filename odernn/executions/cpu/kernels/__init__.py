"""What numba compiles for the execution ``cpu``: lanes of columns, a blended tanh, the recurrence forth and back."""
