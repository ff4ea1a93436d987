"""Pictures of runs and of stability regions, as SVG."""
