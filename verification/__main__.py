"""``python -m verification`` is the command ``odernn``."""

import sys

from verification.cli import main

if __name__ == "__main__":  # worker processes import this file, too
    sys.exit(main(program="python -m verification"))
