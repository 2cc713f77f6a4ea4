"""A report of an identification: Markdown with tables, and figures beside it."""

from pathlib import Path

from . import figures
from .identify import Identification
from .prior import CITATION

CAPTIONS = {
    "singular_values": "Singular values of the scaled regression matrix and the cut.",
    "residuals": "Largest differences per quantity; the dashed line is 1e-13.",
    "parameters": "The seventy parameters of the prior, the identified set and the physical twin.",
    "eigenvalues": "Smallest pseudo-inertia eigenvalue per link; below zero no body has these parameters.",
    "ellipsoids": "The physical twin as ellipsoids of uniform density on the arm in its ready pose.",
}


def report(found: Identification, folder: Path) -> dict[Path, bytes]:
    """Contents of `folder`/report.md and its figures."""
    contents = {folder / "report.md": markdown(found).encode()}
    for name, figure in figures.all_figures(found).items():
        contents[folder / f"{name}.png"] = figures.png(figure)
    return contents


def markdown(found: Identification) -> str:
    """The report's text; figures are named by file."""
    parts = [
        "# Identification of a FER's closed model",
        f"Data: {found.data.about}",
        f"Fingerprint of the numbers: sha256 {found.data.sha256}. Prior: {CITATION}.",
        "```text\n" + found.summary() + "\n```",
        *(f"![{caption}]({name}.png)\n\n{caption}" for name, caption in CAPTIONS.items()),
        "## Payload: library rule and rigid rule",
        payload_table(found),
        "## Physical twin",
        twin_table(found),
        "## Identified combinations",
        base_table(found),
    ]
    return "\n\n".join(parts) + "\n"


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def base_table(found: Identification) -> str:
    """One row for each base parameter."""
    rows = [(str(k), f"`{b.name}`", f"{b.value:.9g}") for k, b in enumerate(found.fit.base, start=1)]
    return table(("", "combination", "value, SI units"), rows)


def payload_table(found: Identification) -> str:
    """Largest differences on the loaded rows under both rules."""
    if found.payload is None:
        return "The data have no rows with a payload."
    pairs = ((name, r, found.payload.rigid[name]) for name, r in found.payload.library.items())
    rows = [(name, r.unit, f"{r.max:.1e}", f"{rigid.max:.1e}") for name, r, rigid in pairs]
    return table(("quantity", "unit", "library rule", "rigid rule"), rows)


def twin_table(found: Identification) -> str:
    """Torque errors of the twin and of the prior."""
    rows = [
        (
            name,
            f"{100 * error.relative:.3f} %",
            " ".join(f"{x:.3f}" for x in error.rms),
            f"{error.mass:.4f}",
            f"{error.gravity:.4f}",
        )
        for name, error in (("physical twin", found.twin.error), ("prior", found.twin.prior_error))
    ]
    return table(("set", "torque error", "rms of joints 1-7, N m", "M max, kg m^2", "gravity max, N m"), rows)
