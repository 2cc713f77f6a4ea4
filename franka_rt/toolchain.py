"""The system's C compiler: found, asked for the machine's features, run.

Looked for in this order: the environment variable CC, then `cc`, `gcc`, `clang` on the PATH, then the `ziglang` package
(`pip install franka-jax[compiler]`).
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

#: Flags that change no finite value: products and sums may be fused, errors are not reported through errno or traps.
FLAGS = [
    "-std=gnu11",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-fno-stack-protector",
    "-fcf-protection=none",
    "-w",
]

#: Macro of the compiler -> name of the CPU feature in /proc/cpuinfo.
FEATURES = {
    "__SSE3__": "pni",
    "__SSSE3__": "ssse3",
    "__SSE4_1__": "sse4_1",
    "__SSE4_2__": "sse4_2",
    "__AVX__": "avx",
    "__AVX2__": "avx2",
    "__FMA__": "fma",
    "__F16C__": "f16c",
    "__BMI__": "bmi1",
    "__BMI2__": "bmi2",
    "__LZCNT__": "abm",
    "__POPCNT__": "popcnt",
    "__MOVBE__": "movbe",
    "__AVX512F__": "avx512f",
    "__AVX512DQ__": "avx512dq",
    "__AVX512VL__": "avx512vl",
    "__AVX512BW__": "avx512bw",
    "__AVX512CD__": "avx512cd",
    "__ARM_FEATURE_SVE": "sve",
    "__ARM_FEATURE_SVE2": "sve2",
    "__ARM_FEATURE_ATOMICS": "atomics",
}


class CompilerError(RuntimeError):
    """The C compiler failed or could not be run; the text ends with what it said."""


@dataclass(frozen=True)
class Toolchain:
    """A C compiler and the processor it compiles for.

    `command` starts it, `cpu` is "native" or a name its -march accepts ("x86-64-v3" runs on every AVX2 machine).
    """

    command: tuple[str, ...]
    cpu: str = "native"

    @property
    def target_flags(self) -> list[str]:
        """How this compiler is told the processor."""
        machine = platform.machine().lower()
        if "ziglang" in self.command:
            return ["-fno-sanitize=undefined", f"-mcpu={self.cpu.replace('-', '_')}"]
        if self.cpu == "native" and sys.platform == "darwin":
            return []  # the baseline of a Mac has everything a kernel uses
        return [f"-mcpu={self.cpu}" if machine in ("arm64", "aarch64") else f"-march={self.cpu}"]

    def run(self, arguments: Sequence[str], text: str | None = None) -> str:
        """Run the compiler and return what it printed.

        Raises:
            CompilerError: it cannot be started or fails.
        """
        try:
            done = subprocess.run([*self.command, *arguments], input=text, capture_output=True, text=True, check=False)
        except OSError as error:
            raise CompilerError(f"the C compiler {shlex.join(self.command)} cannot be started: {error}") from error
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()[-12:]
            raise CompilerError(f"the C compiler {shlex.join(self.command)} failed:\n" + "\n".join(said))
        return done.stdout

    @property
    def identity(self) -> str:
        """What tells one compiler from another without running it: path, size and time of its program."""
        program = Path(shutil.which(self.command[0]) or self.command[0]).resolve()
        try:
            status = program.stat()
        except OSError:
            return shlex.join(self.command)
        return f"{program} {status.st_size} {status.st_mtime_ns} {shlex.join(self.command[1:])} {self.cpu}"

    def version(self) -> str:
        """The first line of `--version`."""
        return self.run(["--version"]).splitlines()[0]

    def features(self) -> list[str]:
        """CPU features that its code may use, as /proc/cpuinfo names them; none where it compiles for every machine."""
        if not self.target_flags:
            return []
        printed = self.run([*self.target_flags, "-dM", "-E", "-x", "c", "-"], text="")
        macros = {line.split()[1] for line in printed.splitlines() if line.startswith("#define")}
        return sorted(name for macro, name in FEATURES.items() if macro in macros)

    def shared_object(
        self, source: str, optimize: str, widths: Sequence[Sequence[str]], extra: Sequence[str] = ()
    ) -> bytes:
        """Compile `source` once per list of definitions, at the same time, and link the results.

        Raises:
            CompilerError: with what the compiler said.
        """
        with tempfile.TemporaryDirectory(prefix="franka_kernel_") as folder:
            path = Path(folder, "kernel.c")
            path.write_text(source, encoding="utf-8")
            flags = [*FLAGS, *self.target_flags, optimize, *extra]
            commands = [
                [*self.command, *flags, *definitions, "-c", str(path), "-o", f"{folder}/{i}.o"]
                for i, definitions in enumerate(widths)
            ]
            self._run_together(commands)
            objects = [f"{folder}/{i}.o" for i in range(len(widths))]
            library = Path(folder, "kernel.so")
            self.run([*self.target_flags, "-shared", "-fPIC", *objects, "-o", str(library), "-lm"])
            return library.read_bytes()

    def program(self, sources: Mapping[str, str], main: str, flags: Sequence[str], libraries: Sequence[str]) -> bytes:
        """Compile the file ``main`` of several (name -> text), which may include the others, to an executable.

        Raises:
            CompilerError: with what the compiler said.
        """
        with tempfile.TemporaryDirectory(prefix="franka_program_") as folder:
            for name, text in sources.items():
                Path(folder, name).write_text(text, encoding="utf-8")
            result = Path(folder, "program")
            self.run([*flags, *self.target_flags, str(Path(folder, main)), "-o", str(result), *libraries])
            return result.read_bytes()

    def _run_together(self, commands: Sequence[Sequence[str]]) -> None:
        try:
            processes = [
                subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
                )
                for command in commands
            ]
        except OSError as error:
            raise CompilerError(f"the C compiler {shlex.join(self.command)} cannot be started: {error}") from error
        said = [process.communicate()[0] for process in processes]
        for process, text in zip(processes, said, strict=True):
            if process.returncode:
                lines = "\n".join(text.strip().splitlines()[-12:])
                raise CompilerError(f"the C compiler {shlex.join(self.command)} failed:\n{lines}")


def find_compiler(cpu: str = "native") -> Toolchain | None:
    """The C compiler of this machine, or None."""
    chosen = shlex.split(os.environ.get("CC", ""))
    if chosen and shutil.which(chosen[0]):
        return Toolchain(tuple(chosen), cpu)
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return Toolchain((name,), cpu)
    if importlib.util.find_spec("ziglang") is not None:
        return Toolchain((sys.executable, "-m", "ziglang", "cc"), cpu)
    return None


@cache
def processor() -> str:
    """Name and features of this machine's processor, as text for a cache key."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0].splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    return "\n".join(
        line for line in lines if line.split(":")[0].strip() in ("model name", "flags", "Features", "CPU part")
    )
