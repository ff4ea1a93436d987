"""Statements of Helfrich, Willmott and Ye 2018 about orthogonal networks by the scaled Cayley transform."""
