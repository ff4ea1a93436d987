"""n-t-ODERNNs (Niu, Chuang, Horesh 2019): Runge–Kutta methods with matrices for coefficients, and what they realise."""

from odernn.cells.odernn.network import CELL, ODERNN, Coefficient, Gate, MatrixTableau, ODERNNLayer, Stage

__all__ = ["CELL", "ODERNN", "Coefficient", "Gate", "MatrixTableau", "ODERNNLayer", "Stage"]
