"""`python -m rollgrid.models.local`: the model process (see `server`)."""

import os

from rollgrid.models.local.server import main

os._exit(main())
