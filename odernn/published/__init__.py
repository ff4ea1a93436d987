"""What the papers print, as text with its place: numbers to compare with, none to compute with.

sources     the papers by their keys, and ``Source``, a place in one of them
networks    hyperparameters and parameter counts of the networks whose size is printed
results     test figures by task and model;   ``sentiment``  what Rusch and Mishra print of IMDB
scornn      the numbers of Helfrich, Willmott, Ye 2018;   ``complexity``  those of Zhang et al. 2016
"""
