from verification.models import ModelTrial as ModelTrial
from verification.models import trial as trial

__all__ = ["ModelTrial", "trial"]
