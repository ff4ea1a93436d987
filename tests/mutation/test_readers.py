"""Kinds of parameters at their edges: what the mutation check asks for beyond tests/verification/test_parameters.py."""

from __future__ import annotations
