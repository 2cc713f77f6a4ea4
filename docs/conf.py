"""Sphinx configuration: `python -m sphinx -W --keep-going -b html docs docs/_build/html`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import pages  # noqa: E402  (found by the line above)
import tables  # noqa: E402

project = "franka-jax"
author = "The franka-jax authors"
copyright = "2026, The franka-jax authors"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "_generated/tables"]
default_role = "code"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
add_module_names = False
python_use_unqualified_type_names = True
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = "franka-jax"
html_static_path = []


def setup(app):
    """Write the generated pages before Sphinx looks for them; take docstrings as plain text."""
    pages.write_api(HERE / "_generated" / "api")
    tables.write_tables(HERE / "measurements", HERE / "_generated" / "tables")
    pages.write_notebooks(HERE.parent / "notebooks", HERE / "_generated" / "notebooks")
    app.connect("autodoc-process-docstring", pages.plain_docstring, priority=400)
    app.connect("autodoc-process-signature", pages.short_signature)
    app.connect("doctree-read", pages.short_property)
