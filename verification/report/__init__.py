"""Reports: ``rows`` makes tables, ``formats`` writes them, ``pictures`` draws."""
