"""Data sets and synthetic tasks: where real input comes from. Import the module you need."""
