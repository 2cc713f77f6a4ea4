"""What the commands do, between the parsed options and the library. Nothing is written unless everything succeeded."""

import argparse
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from franka_jax import Model, Payload, UrdfError, fr3
from franka_jax import fer as fer_model

from . import dataset, files, sampling
from .dataset import Dataset, DatasetError
from .identify import STEPS, identify
from .library import LibraryError, SharedObject
from .output import base_urdf, outputs
from .progress import Progress


class CommandError(Exception):
    """One line for the person at the terminal."""


DEFAULT_PAYLOAD = (1.23, 0.0, 0.0, 0.03, 0.0031, 0.0046, 0.0049)
"""The payload with which `fer --library` asks for m7 and c7z: mass, centre, diagonal of the tensor."""


def fer(options: argparse.Namespace) -> None:
    """`python -m identification fer`."""
    _switch_on_float64()
    with _one_line():
        _check_suffix(options.out, (".urdf",))
        description = base_urdf() if options.urdf is None else options.urdf.read_bytes()
        model = fer_model() if options.urdf is None else Model.from_urdf(description)
        other = None if options.compare is None else Model.from_urdf(options.compare)
        data = _data(options, model)
        progress = Progress(STEPS, options.quiet)
        try:
            found = identify(data, model, options.solver, progress)
        finally:
            progress.close()
        contents = {} if options.out is None else outputs(found, options.out, options.physical, description)
        if options.report is not None:
            from .report import report  # matplotlib, only where asked for

            contents |= report(found, options.report)
        files.write_all(contents)
    print(found.summary())
    if other is not None:
        difference = np.abs(found.fit.phi - np.asarray(other.phi)).max()
        print(f"comparison          the seventy parameters differ by at most {difference:.1e}")
    for path in contents:
        print(f"wrote {path}")


def sample(options: argparse.Namespace) -> None:
    """`python -m identification sample`."""
    _switch_on_float64()
    payloads = tuple(_payload(numbers) for numbers in options.payload)
    with _one_line():
        _check_suffix(options.out, (".npz", ".json"))
        if options.library is not None:
            model = fer_model()
            data = _ask_library(options, model, payloads)
        else:
            model = _backend(options.backend)
            about = f"{options.backend} of franka_jax at the 208 configurations"
            data = _ask(model, model, payloads, about, options.quiet)
        dataset.write(data, options.out)
    print(f"{data!r}\nwrote {options.out}")


@contextmanager
def _one_line():
    try:
        yield
    except (DatasetError, LibraryError, UrdfError, OSError, ImportError) as error:
        raise CommandError(" ".join(str(error).split())) from None


def _switch_on_float64() -> None:
    import jax

    jax.config.update("jax_enable_x64", True)


def _check_suffix(path: Path | None, suffixes: tuple[str, ...]) -> None:
    if path is not None and path.suffix not in suffixes:
        raise DatasetError(f"{path}: the file to write ends in {' or '.join(suffixes)}")


def _data(options: argparse.Namespace, model: Model) -> Dataset:
    if options.library is not None:
        if options.data is not None:
            raise DatasetError("--data and --library are two sources: give one")
        return _ask_library(options, model, (_payload(DEFAULT_PAYLOAD),))
    return dataset.default_dataset() if options.data is None else dataset.read(options.data)


def _ask_library(options: argparse.Namespace, model: Model, payloads: tuple[Payload, ...]) -> Dataset:
    if not options.execute_library:
        raise LibraryError(
            f"loading {options.library} executes the robot's code: add --execute-library if you trust it"
        )
    library = SharedObject(options.library, execute=options.execute_library)
    sampling.check_geometry(library, model)
    about = f"answers of the shared object {options.library.name} at the 208 configurations"
    return _ask(library, model, payloads, about, options.quiet)


def _ask(backend: sampling.Backend, model: Model, payloads: tuple[Payload, ...], about: str, quiet: bool) -> Dataset:
    q, dq = sampling.recipe(model.limits)
    progress = Progress(1, quiet)
    with progress.step(f"{len(q) * (1 + len(payloads))} answers"):
        data = sampling.evaluate(backend, q, dq, payloads, about=about)
    progress.close()
    return data


def _backend(name: str) -> Model:
    if name in ("fer", "fr3"):
        return {"fer": fer_model, "fr3": fr3}[name]()
    return Model.from_urdf(Path(name))


def _payload(numbers: tuple[float, ...]) -> Payload:
    m, cx, cy, cz, xx, yy, zz = numbers
    try:
        return Payload(m, [cx, cy, cz], [[xx, 0, 0], [0, yy, 0], [0, 0, zz]]).check()
    except ValueError as error:
        raise CommandError(f"--payload: {error}") from None
