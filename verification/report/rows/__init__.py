"""From judgements, tableaus, graphs and runs to rows of a table: pure functions."""
