"""The trial: every published claim about these networks, put to the test with evidence that anyone can replay.

``verification.trial`` puts anybody's model on trial (docs/models.md). It is fetched when it is asked for: importing
this package loads nothing.
"""


def __getattr__(name: str) -> object:
    if name != "trial":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from verification.models import trial

    return trial
