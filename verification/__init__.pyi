"""Names of ``verification``, for type checkers and for readers: ``__getattr__`` fetches them."""

from verification.models import trial as trial
