"""Where the reference data lie, and the configuration that everybody knows."""

from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
DATA = ROOT / "tests" / "data"
READY = np.array([0.0, -np.pi / 4, 0.0, -3 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4])
