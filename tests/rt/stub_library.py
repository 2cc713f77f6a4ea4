"""Builds the stand-in for a FER's model library from the published FER parameters."""

import shutil
import subprocess
import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.rt.layouts import DATA

SOURCE = Path(__file__).with_name("stub_library.c")
M7, C7Z = 0.5362215936072519, 0.03119086969164915  # the library's own last body (dynamics of the FCI, 4.2)


def _numbers(element, attribute):
    return [float(x) for x in element.get(attribute).split()]


def _rotation(rpy):
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    Rz, Ry = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]]), np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    return Rz @ Ry @ np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])


def _tensor(inertia):
    ixx, ixy, ixz, iyy, iyz, izz = (float(inertia.get(n)) for n in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])


def _moving(root: Any) -> list[Any]:
    joints = [joint for joint in root.findall("joint") if joint.get("type") == "revolute"]
    return sorted(joints, key=lambda joint: joint.get("name"))


def parameters() -> str:
    """The C header of the arm."""
    root = ElementTree.parse(DATA / "fer_identified_reference.urdf").getroot()
    links: dict[Any, Any] = {link.get("name"): link for link in root.findall("link")}
    tables: dict[str, list] = {name: [] for name in ("ORIGIN_R", "ORIGIN_P", "MASS", "CENTRE", "INERTIA")}
    for joint in _moving(root):
        origin, inertial = joint.find("origin"), links[joint.find("child").get("link")].find("inertial")
        tables["ORIGIN_R"].append(_rotation(_numbers(origin, "rpy")))
        tables["ORIGIN_P"].append(_numbers(origin, "xyz"))
        tables["MASS"].append(float(inertial.find("mass").get("value")))
        tables["CENTRE"].append(_numbers(inertial.find("origin"), "xyz"))
        tables["INERTIA"].append(_tensor(inertial.find("inertia")))
    lines = [f"#define FLANGE_Z 0.107\n#define M7 {M7!r}\n#define C7Z {C7Z!r}"]
    for name, table in tables.items():
        numbers = ", ".join(repr(float(x)) for x in np.array(table).ravel())
        lines.append(f"static const double {name}[] = {{{numbers}}};")
    return "\n".join(lines) + "\n"


def build(folder: Path, *flags: str) -> Path:
    """Compile the stub; the test is skipped, with a warning, where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        warnings.warn("no C compiler: the model library's binding was NOT tested", stacklevel=2)
        pytest.skip("no C compiler")
    (folder / "parameters.h").write_text(parameters())
    path = folder / f"stub{len(flags)}.so"
    command = [compiler, "-O1", "-shared", "-fPIC", f"-I{folder}", *flags, "-o", str(path), str(SOURCE), "-lm"]
    subprocess.run(command, check=True, timeout=60)
    return path
