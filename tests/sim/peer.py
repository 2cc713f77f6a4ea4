"""Independent clients, each in a process of its own with a hard time limit."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

CLIENTS = Path(__file__).parent / "clients"
MODULES = {"pylibfranka": "pylibfranka_client", "panda_py": "panda_client", "franka": "franka_rs_client"}


def require(module: str) -> None:
    """Fail if a client is not installed, unless it cannot be on this Python: then the run says so."""
    if importlib.util.find_spec(module) is not None:
        return
    if sys.platform != "linux" or (module == "pylibfranka" and sys.version_info >= (3, 13)):
        pytest.skip(f"NOTHING COMPARED: {module} does not exist for Python {sys.version.split()[0]} on {sys.platform}")
    pytest.fail(f"{module} is not installed: pip install -e '.[peers]'")


class Peer:
    """Scenarios of one client against one host."""

    def __init__(self, module: str, host: str) -> None:
        require(module)
        self.script, self.host = CLIENTS / f"{MODULES[module]}.py", host

    def start(self, scenario: str) -> subprocess.Popen[str]:
        """The running process."""
        command = [sys.executable, str(self.script), scenario, self.host]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, scenario: str, limit: float = 40.0) -> dict:
        """What the scenario returned; a failure of the client fails the test with what it wrote."""
        return self.finish(self.start(scenario), limit)

    @staticmethod
    def finish(process: subprocess.Popen[str], limit: float = 40.0) -> dict:
        """The result of a started scenario."""
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            pytest.fail(f"the client did not end within {limit} s: {process.communicate()[1][-2000:]}")
        assert process.returncode == 0, f"the client ended with {process.returncode}: {err[-3000:]}"
        return json.loads(out)
