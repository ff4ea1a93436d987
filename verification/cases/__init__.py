"""The kinds of cases that claims share: an inequality, an identity, an order in dt, a decision place by place, a
bound on hidden states; and the controls of their searches.
"""
