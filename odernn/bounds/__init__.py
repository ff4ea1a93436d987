"""Bounds on ODE-derived recurrent networks: one file a paper, and the library's own.

    icml, sam         as printed in the two UnICORNN papers
    sharp             states: exact suprema, the invariant form, a limit uniform in dt
    jacobian          products of step Jacobians; ``forms`` to measure in, ``words`` for lower bounds, ``switching`` for
                      the worst moments to switch
    damped            steps with friction: the undamped ones that they are multiples of, their norm and rate
    sensitivity       the differential equation, all times
    layers            what each time step contributes, exactly; ``routes`` through the layers
    gradient          every gradient of a stack
    reconstruction    stepping back in floating point
    orthogonal        scaled Cayley matrices: norm, condition and angles under bounded entries, and back
    cayley_rounding   how orthogonal a computed matrix is: from its residual, its solver, its updates
    hidden_gradient   gradients of hidden states through orthogonal matrices and modReLU
    arnn              antisymmetric networks: powers of a step at constant slopes, and drives that make them grow
    network           all of it for one network of any cell: ``certify``
    radii             within which radius of its inputs a classifier's answer stays: ``robustness``

Every bound is a pure function that returns a **natural logarithm**, written once over a number namespace
(``numbers.FLOATS`` or ``numbers.BALLS``): the text that a table prints is the text that a certificate proves.
``inf`` is never a bound; inputs are exact (``fractions.Fraction``, ``int``) or numbers of the namespace.

    >>> from odernn import UnICORNN
    >>> from odernn.bounds import certify
    >>> network = UnICORNN(3, 64, 2, dt=0.05, alpha=1.0)
    >>> print(certify(network, input_bound=1.0, steps=100))  # doctest: +SKIP
"""

from __future__ import annotations

from odernn import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
