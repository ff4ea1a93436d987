"""One page of HTML about a run: ``model`` is plain data, ``build`` and ``series`` make it, ``render`` writes it.

``typeset`` sets formulas that are written in Unicode; ``templates`` has the page, its style and its script.
"""
