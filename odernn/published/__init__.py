"""What the papers print: networks and hyperparameters, results, parameter counts, and the sources' full names."""
