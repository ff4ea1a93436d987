"""Within which radius of its inputs a classifier's answer cannot change: ``robustness``.   docs/derivations/radii.md

robustness    what is asked, and what comes out, as text and as JSON
parts         which recurrent network and which read-out a model is made of
norms         how a change of the inputs is measured
constants     radii by one constant for all inputs: nonexpansive networks, damped oscillators
oscillators   what a change of the inputs becomes near one run: derivative, curvature, rounding
stacks        which networks those are
margins       the largest radius at which every margin is kept
"""

from odernn.bounds.radii.robustness import Robustness, robustness

__all__ = ["Robustness", "robustness"]
