"""What all cells share: torch.nn's manners with sequences and arguments, exact buffers, activations, initial states."""
