"""Pages generated at build time: the API reference from docstrings, and the notebooks with their committed outputs."""

import base64
import importlib
import json
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from docutils.nodes import Text
from sphinx.addnodes import desc_signature
from sphinx.pycode import ModuleAnalyzer

MODULES = (
    "franka_jax",
    "franka_jax.dynamics",
    "franka_jax.urdf",
    "franka_jax.aot",
    "franka_rt",
    "franka_rt.errors",
    "franka_rt.kernel",
    "franka_rt.sim",
    "identification",
)
"""Modules whose `__all__` is documented; one without `__all__` has no public names yet and gets no page."""


def write_api(folder: Path) -> None:
    """One page per module of `MODULES`: its docstring, then the names of its `__all__` that no earlier page shows.

    Modules among those names are left out: their text would be a path of the machine that builds the site.
    """
    _empty(folder)
    shown = set()
    for name in MODULES:
        module = importlib.import_module(name) if find_spec(name) else None
        entries = {key: getattr(module, key) for key in getattr(module, "__all__", ())}
        entries = {key: value for key, value in entries.items() if not isinstance(value, ModuleType)}
        public = [key for key, value in entries.items() if not (callable(value) and id(value) in shown)]
        shown.update(id(value) for value in entries.values())
        if public:
            (folder / f"{name}.md").write_text(_api_page(name, module, public), encoding="utf-8")


def _api_page(name: str, module, public: list[str]) -> str:
    entries = [f".. automodule:: {name}", "   :no-members:", ""]
    for key in public:
        entries += [*_entry(f"{name}.{key}", getattr(module, key)), ""]
    return "\n".join([f"# `{name}`", "", "```{eval-rst}", *entries, "```", ""])


def _entry(path: str, value) -> list[str]:
    if isinstance(value, type):
        return [f".. autoclass:: {path}", "   :members:"]
    if callable(value):
        return [f".. autofunction:: {path}"]
    return [
        f".. py:data:: {path}",
        f"   :value: {value!r}",
        "",
        *(f"   {line}" for line in _data_docstring(path, value)),
    ]


def _data_docstring(path: str, value) -> list[str]:
    """The string below a constant, in whichever module of the package defines it."""
    package, key = path.rsplit(".", 1)
    for name in [name for name in sys.modules if name.startswith(package)]:
        if vars(sys.modules[name]).get(key) is value:
            lines = ModuleAnalyzer.for_module(name).find_attr_docs().get(("", key))
            if lines:
                return [_escape(line) for line in lines]
    return []


def short_signature(app, what, name, obj, options, *texts: str | None) -> tuple[str | None, ...]:
    """Annotations as they stand in the source: `ArrayLike` instead of its members, `Array` without its module."""
    return tuple(text and _ARRAY.sub("Array", _ARRAY_LIKE.sub(r"\1Float[ArrayLike, \2]", text)) for text in texts)


def short_property(app, doctree) -> None:
    """The same for the types of properties, which are nodes by now."""
    for signature in doctree.findall(desc_signature):
        for text in signature.findall(Text):
            if _ARRAY.search(text):
                text.parent.replace(text, Text(_ARRAY.sub("Array", text)))


_ARRAY = re.compile(r"jaxlib[.\w]*\.Array")
_ARRAY_LIKE = re.compile(rf"([~.\w]*)Float\[{_ARRAY.pattern}, ('[^']*')\] \| [~.\w]*Float\[(?:numpy\.)?ndarray, \2\]")


def plain_docstring(app, what, name, obj, options, lines: list[str]) -> None:
    """Docstrings are plain text with `code` in back-quotes: make that reStructuredText.

    An indented block after an empty line (equations, examples) is shown as it stands; `|x|`, `*` and a trailing
    underscore, which have a meaning in reStructuredText, are escaped.
    """
    result, literal = [], False
    for index, line in enumerate(lines):
        indented = line.startswith("    ") and bool(line.strip())
        if not literal and indented and index and not lines[index - 1].strip():
            result += ["::", ""]
            literal = True
        elif literal and line.strip() and not indented:
            literal = False
        result.append(line if literal else _escape(line))
    # Napoleon takes what stands before a colon in an attribute's first line as its type: give it an empty comment.
    lines[:] = ["..", "", *result] if what in ("attribute", "data", "property") else result


def _escape(line: str) -> str:
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(part if part.startswith("`") else re.sub(r"[|*]|(?<=\w)_(?!\w)", r"\\\g<0>", part) for part in parts)


def write_notebooks(source: Path, folder: Path) -> None:
    """Every notebook as a page: its text, its code, its committed text outputs and figures."""
    _empty(folder)
    for path in sorted(source.glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = "\n\n".join(_cell(cell, f"{path.stem}-{index}", folder) for index, cell in enumerate(cells))
        (folder / f"{path.stem}.md").write_text(text + "\n", encoding="utf-8")


def _cell(cell: dict, name: str, folder: Path) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    return "\n\n".join([_fence("python", source), *(_output(o, name, folder) for o in cell["outputs"])])


def _output(output: dict, name: str, folder: Path) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        (folder / f"{name}.png").write_bytes(base64.b64decode(data["image/png"]))
        return f"![figure]({name}.png)"
    return _fence("text", "".join(output.get("text", data.get("text/plain", ""))).rstrip())


def _fence(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"


def _empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
