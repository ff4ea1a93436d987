"""Theorems of this library that no paper states, and links between the papers."""
