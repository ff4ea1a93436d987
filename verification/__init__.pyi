"""Names of ``verification``, for type checkers and for ``odernn.lazy_exports``."""

from verification.models import trial as trial
