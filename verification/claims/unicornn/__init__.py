"""Statements of Rusch and Mishra 2021 about UnICORNN, in both versions of the paper."""
