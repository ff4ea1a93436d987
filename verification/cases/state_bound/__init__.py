"""Bounds on hidden states: how the trials of one search become judgements of every claim about the same quantity."""
