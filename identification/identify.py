"""All of it in one call: fit, held-out check, single precision, payload rule, certificate, physical twin."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from franka_jax import Model, fer

from . import library_fit, payload_fit, reachable, regression, twin
from .dataset import Dataset
from .least_squares import Solver
from .library_fit import LibraryFit, Residual
from .payload_fit import PayloadFit
from .progress import Progress
from .reachable import Reachable
from .twin import Twin

FULL_RANK = 45
STEPS = 6
HOLDOUT = 5
"""Every fifth configuration is held out; fewer than five are all fitted."""
EXACT = 1e-6
"""A larger residual (kg m^2, N m) means that the data are not exact answers of a rigid-body model of this arm."""


@dataclass(frozen=True, eq=False)
class Identification:
    """Everything `identify` finds: the parts are described in their modules.

    `heldout`: differences on every fifth configuration of a fit to the others (empty if there are too few);
    `coriolis`: largest difference of the Coriolis torques, which are predicted, not fitted (None without data);
    `single`: the fit by the float32 solver; `payload` is None without loaded rows; `seconds` per step.
    """

    data: Dataset
    fit: LibraryFit
    heldout: dict[str, Residual]
    single: LibraryFit
    coriolis: Residual | None
    payload: PayloadFit | None
    reachable: Reachable
    twin: Twin
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def phi(self) -> Float[np.ndarray, "7 10"]:
        """The identified parameters: of the joint fit where there are loaded rows."""
        return self.fit.phi if self.payload is None else self.payload.phi

    @property
    def model(self) -> Model:
        """The identified arm with the library's payload rule (m7, c7z of the package where none were fitted)."""
        return self.fit.model if self.payload is None else self.payload.model

    @property
    def physical_model(self) -> Model:
        """The physical twin, rigid payload rule."""
        return payload_fit.replace_rule(self.model.with_phi(self.twin.phi), "rigid")

    def summary(self) -> str:
        """The figures as text, one a line."""
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        return f"Identification({self.fit!r}, {self.payload!r}, {self.reachable!r}, {self.twin!r})"

    def _lines(self) -> Iterator[str]:
        fit, error = self.fit, self.twin.error
        yield f"data                {self.data!r}"
        rank = f"{fit.rank} of 70" + ("" if fit.rank >= FULL_RANK else _LACKING)
        yield f"rank                {rank}; singular values {_spectrum_text(fit)}"
        yield f"residuals           {_text(fit.residuals)}"
        if fit.worst_residual > EXACT:
            yield "                    NOT EXACT: noise, or another arm; what follows is about the least-squares fit"
        if self.heldout:
            yield f"held-out fifth      {_text(self.heldout)}"
        if self.coriolis is not None:
            yield f"Coriolis, predicted {self.coriolis.max:.1e} N m"
        yield f"float32 + 1 step    {_text(self.single.residuals)}"
        if self.payload is not None:
            yield f"payload rule        m7 = {self.payload.m7:.12f} kg, c7z = {self.payload.c7z:.12f} m"
            yield f"  library's rule    {_text(self.payload.library)}"
            yield f"  rigid rule        {_text(self.payload.rigid)}"
        best = self.reachable
        yield f"smallest eigenvalue {best.as_fitted:.3e} as fitted; best of all exact fits {best.eigenvalue:.4e},"
        yield f"                    none above {best.bound:.4e} (certified, gap {best.gap:.1e})"
        yield f"physical twin       torque error {100 * error.relative:.3f} % over {error.states} random states"
        yield f"                    (seed {error.seed}; the prior: {100 * self.twin.prior_error.relative:.3f} %),"
        yield f"                    eigenvalues >= {self.twin.eigenvalues.min():.2e}, {self.twin.total_mass:.3f} kg"


def identify(
    data: Dataset, model: Model | None = None, solver: Solver = "svd", progress: Progress | None = None
) -> Identification:
    """Identify an arm's parameters from a closed model's answers.

    `model` gives the placements and limits (default: the FER). DatasetError where the data do not allow it.
    """
    model = fer() if model is None else model
    progress = Progress(STEPS, quiet=True) if progress is None else progress
    with progress.step("regression rows"):
        rows = regression.build_rows(model, data.unloaded, regression.available(data))
        fitted = {name: rows[name] for name in ("mass", "gravity")}
    with progress.step("fit"):
        fit = library_fit.fit_rows(fitted, model, solver=solver)
    with progress.step("held-out check, single precision"):
        enough = fit.configurations >= HOLDOUT
        heldout = library_fit.holdout(rows, model, HOLDOUT, scale=fit.scale)[1] if enough else {}
        single = library_fit.fit_rows(fitted, model, scale=fit.scale, solver="float32")
    with progress.step("payload rule"):
        payload = payload_fit.fit_payload(fit, fitted, data) if data.m_total.any() else None
    with progress.step("best exact fit"):
        best = reachable.best_exact_fit(fit)
    with progress.step("physical twin"):
        nearest = twin.physical_twin(fit)
    coriolis = (
        library_fit.residuals({"coriolis": rows["coriolis"]}, fit.theta)["coriolis"] if "coriolis" in rows else None
    )
    return Identification(data, fit, heldout, single, coriolis, payload, best, nearest, progress.seconds)


_LACKING = " (45 need gravity off the vertical and three configurations)"


def _text(residuals: dict[str, Residual]) -> str:
    return ", ".join(f"{name} {residual.max:.1e} {residual.unit}" for name, residual in sorted(residuals.items()))


def _spectrum_text(fit: LibraryFit) -> str:
    s = fit.singular_values
    below = f", then {s[fit.rank] / s[0]:.0e} of it" if fit.rank < len(s) else ""
    return f"{s[0]:.4f} ... {s[fit.rank - 1]:.4f}{below}"
