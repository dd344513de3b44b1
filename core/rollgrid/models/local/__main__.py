"""`python -m rollgrid.models.local`: the model process (see `server`)."""

import sys

from rollgrid.models.local.server import main

if __name__ == "__main__":
    sys.exit(main())
