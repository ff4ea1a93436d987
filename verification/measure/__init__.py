"""Measurements: what a run actually did. Float64, torch; certificates do not use them."""
