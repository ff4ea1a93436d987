"""Symplectic partitioned methods for y' = ∂H/∂z, z' = −∂H/∂y.

The letters V and T are the potential and the kinetic energy of H(y, z) = V(y) + T(z), in the order in which
their flows are applied: the flow of V kicks (changes z), the flow of T drifts (changes y).
"""

from __future__ import annotations

from odernn.tableau import ButcherTableau, PartitionedTableau, Q, Source

# fmt: off
# Implicit in the momentum: z₁ = z₀ − h H_y(y₀, z₁), y₁ = y₀ + h H_z(y₀, z₁). Kick, then drift.
SYMPLECTIC_EULER_VT = PartitionedTableau(
    name="symplectic euler vt", source=Source("hairer2006", "eq. (I.1.9) and Theorem VI.3.3"), order=1,
    position=ButcherTableau(
        name="symplectic euler vt, position", source=Source("hairer2006", "eq. (I.1.9)"),
        A=[[ 0 ]],
        b=[  1 ],
        c=[  0 ]),
    momentum=ButcherTableau(
        name="symplectic euler vt, momentum", source=Source("hairer2006", "eq. (I.1.9)"),
        A=[[ 1 ]],
        b=[  1 ],
        c=[  1 ]))

# Implicit in the position: y₁ = y₀ + h H_z(y₁, z₀), z₁ = z₀ − h H_y(y₁, z₀). Drift, then kick; the adjoint of
# VT.
SYMPLECTIC_EULER_TV = PartitionedTableau(
    name="symplectic euler tv", source=Source("hairer2006", "eq. (I.1.9) and Theorem VI.3.3"), order=1,
    position=ButcherTableau(
        name="symplectic euler tv, position", source=Source("hairer2006", "eq. (I.1.9)"),
        A=[[ 1 ]],
        b=[  1 ],
        c=[  1 ]),
    momentum=ButcherTableau(
        name="symplectic euler tv, momentum", source=Source("hairer2006", "eq. (I.1.9)"),
        A=[[ 0 ]],
        b=[  1 ],
        c=[  0 ]))

# The variant that the recurrent networks use.
SYMPLECTIC_EULER = SYMPLECTIC_EULER_VT

# Lobatto IIIA-IIIB with two stages. The abscissae of IIIB are the row sums 1/2, 1/2 and not the Lobatto nodes
# 0, 1: IIIB with s stages has stage order s − 2, so at s = 2 not even A·1 equals the nodes.
STOERMER_VERLET = PartitionedTableau(
    name="stoermer verlet", source=Source("hairer2006", "Table II.2.1"), order=2,
    position=ButcherTableau(
        name="lobatto iiia 2", source=Source("hairer2006", "Table II.2.1, left"), order=2,
        A=[[ 0,       0 ],
           [ Q(1,2),  Q(1,2) ]],
        b=[  Q(1,2),  Q(1,2) ],
        c=[  0,       1 ]),
    momentum=ButcherTableau(
        name="lobatto iiib 2", source=Source("hairer2006", "Table II.2.1, right"), order=2,
        A=[[ Q(1,2),  0 ],
           [ Q(1,2),  0 ]],
        b=[  Q(1,2),  Q(1,2) ],
        c=[  Q(1,2),  Q(1,2) ]))
