"""`python -m qpsvm`."""

import sys

from qpsvm.cli import main

sys.exit(main())
