"""Objects as people read them: methods as a book prints them, graphs, bounds; in text, LaTeX and HTML.

    formulas   exact numbers and formulas: 1/2 − √3/6, z²/12, θ instead of "root(x^3 − …, 0.43)"
    arrays     Butcher arrays
    graphs     a graph of ``odernn.architecture``: its picture, its measures and edges
    bounds     what ``odernn.bounds.certify`` answers
    lines      text in lines of a width: how much room it takes, where it may be broken
    tables     rows as a table of HTML, everything escaped
    spreadsheet   a cell of CSV that is shown, and not computed

Notebooks show objects by these (``odernn.notebook``), the command's tables are made of the first two.
"""
