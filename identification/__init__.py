"""Inertial parameters from data.

    from identification import default_dataset, identify
    found = identify(default_dataset())
    print(found.summary())

`python -m identification fer` does the same and writes the robot description. JAX's 64-bit numbers must be on.
"""

from .dataset import Dataset, DatasetError, default_dataset
from .identify import Identification, identify
from .library import LibraryError, SharedObject
from .library_fit import LibraryFit, fit
from .payload_fit import PayloadFit, fit_payload
from .reachable import Reachable, best_exact_fit
from .twin import Twin, physical_twin, torque_error

__all__ = [
    "Dataset",
    "DatasetError",
    "Identification",
    "LibraryError",
    "LibraryFit",
    "PayloadFit",
    "Reachable",
    "SharedObject",
    "Twin",
    "best_exact_fit",
    "default_dataset",
    "fit",
    "fit_payload",
    "identify",
    "physical_twin",
    "torque_error",
]
