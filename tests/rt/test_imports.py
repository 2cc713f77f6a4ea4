"""Who may import whom, and what importing the client costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
CLIENT = sorted((ROOT / "franka_rt").rglob("*.py"))
SANS_IO = ("machine", "events", "dialect", "connection", "layouts", "v5", "v10", "state", "requests", "commands")
HEAVY = {"jax", "jaxlib", "equinox", "scipy", "matplotlib", "optax", "franka_jax"}
MAY_USE_JAX = {"model.py", "model_backend.py", "sim", "demo", "compiled_impedance.py"}
MAY_DRAW = {"command_communication_test.py"}


def imports(path):
    """(top-level package, inside a function) of every import statement."""
    tree = ast.parse(path.read_text())
    inner = {n for f in ast.walk(tree) if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef) for n in ast.walk(f)}
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        yield from ((name.split(".")[0], node in inner) for name in names)


@pytest.mark.parametrize("path", CLIENT, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_client_needs_numpy_alone(path):
    allowed = set(sys.stdlib_module_names) | {"numpy", "franka_rt"}
    parts = set(path.relative_to(ROOT / "franka_rt").parts)
    inside = HEAVY if parts & MAY_USE_JAX else {"matplotlib"} if parts & MAY_DRAW else set()
    for package, in_function in imports(path):
        assert package in allowed or (in_function and package in inside), package


@pytest.mark.parametrize("name", SANS_IO)
def test_protocol_knows_no_sockets_clocks_threads(name):
    packages = {package for package, _ in imports(ROOT / "franka_rt" / f"{name}.py")}
    assert not packages & {"socket", "select", "selectors", "time", "threading", "asyncio", "os"}


def test_identification_and_client_are_strangers():
    for path in sorted((ROOT / "identification").rglob("*.py")):
        assert "franka_rt" not in {package for package, _ in imports(path)}, path
    for path in CLIENT:
        assert "identification" not in {package for package, _ in imports(path)}, path


def test_only_the_kernels_of_franka_jax_know_the_client():
    for path in sorted((ROOT / "franka_jax").rglob("*.py")):
        if "aot" not in path.parts:
            assert "franka_rt" not in {package for package, _ in imports(path)}, path


def test_dynamics_knows_nothing_of_franka():
    for path in sorted((ROOT / "franka_jax" / "dynamics").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("franka_jax"):
                assert (node.module or "").startswith("franka_jax.dynamics"), path


def test_version_numbers_are_asked_for_only_in_the_dialects():
    for path in CLIENT:
        if path.name in ("v5.py", "v10.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Compare):
                text = ast.unparse(node)
                assert "FciVersion" not in text, f"{path.name}: {text}"
                assert "version ==" not in text, f"{path.name}: {text}"


MEMORY = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ImportError(name + " is blocked")
sys.meta_path.insert(0, Blocked())
def resident():
    return int(next(l for l in open("/proc/self/status") if l.startswith("VmRSS")).split()[1])
import numpy
before = resident()
import franka_rt
print(resident() - before)
"""


def test_import_is_cheap_and_needs_nothing_heavy():
    code = MEMORY.replace("{blocked!r}", repr(HEAVY))
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) <= 15 * 1024, f"import franka_rt costs {run.stdout} kB"
