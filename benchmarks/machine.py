"""What a benchmark's report says of the machine it ran on."""

from __future__ import annotations

import os
import platform
from typing import Any

import numpy as np
import pyarrow as pa

import semistream as ss


def machine() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "pyarrow": pa.__version__,
        "numpy": np.__version__,
        "semistream": ss.__version__,
    }
