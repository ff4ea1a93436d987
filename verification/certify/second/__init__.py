"""The second back-end: every certified formula typed once more, in mpmath's intervals, fractions or plain integers.

Nothing here imports anything of this library outside this folder, and a test holds that for every file: an error of the
first back-end would have to be made twice to go unseen.
"""
