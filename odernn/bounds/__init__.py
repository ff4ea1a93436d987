"""Bounds on ODE-derived recurrent networks: one file a paper, and ``sharp.py`` for the library's own.

Every bound is a pure function that returns a **natural logarithm**, written once over a number namespace
(``numbers.FLOATS`` or ``numbers.BALLS``): the text that a table prints is the text that a certificate proves.
``inf`` is never a bound; inputs are exact (``fractions.Fraction``, ``int``) or numbers of the namespace.
"""
