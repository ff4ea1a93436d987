"""Every bound for one network: ``certify``.

certification   which theorems a class of networks has
question        what is asked, and what is refused
report          what comes out, and as text
sweeps          what a step does to a change, and sums over all paths of a stack
response_sums   sums of the moduli of what a step makes of a kick, of 2 × 2 matrices
unicornn        UnICORNN, with ``weights``, its coefficients, and ``states``, bounds on |y_n| and |z_n| of each neuron
levels          what a layer hands to the next one, and the report of a stack
greedy          lower bounds on Jacobians: slopes chosen step by step
orthogonal      ScoRNN, ExpRNN, URNN                  euler       AntisymmetricRNN, LipschitzRNN
cornn           CoRNN                                 arnn        ARNN12, ARNN22
decoupled       LinOSS, IndRNN                        gated       LEM, ClockworkRNN, and torch's LSTM, GRU, RNN
field           IntegratorRNN                         damped      DampedUnICORNN
lipschitz       how far two runs on different inputs can part, of any of them
"""

from odernn.bounds.network.certification import certify
from odernn.bounds.network.report import LayerBounds, LogBound, NetworkBounds, NeuronBounds, QuantityBound

__all__ = ["LayerBounds", "LogBound", "NetworkBounds", "NeuronBounds", "QuantityBound", "certify"]
