"""`python -m qpsvm`."""

import sys

from qpsvm.faces.cli import main

sys.exit(main())
