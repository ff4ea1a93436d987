"""Statements of Zhang et al. 2016 about architectures as cyclic graphs."""
