"""Kernel objects: layouts, errors, files, cache, fallback."""

import gc
import json
import os
import struct
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from franka_jax import aot
from franka_jax.aot import compile
from franka_rt import artefact, cache, toolchain
from franka_rt.kernel import KernelArgumentError, KernelException, load

ROOT = Path(__file__).parents[2]


def law(q, options, index):
    """Every kind of leaf: vectors, matrices, scalars, integers, booleans, dictionaries."""
    m = options["gain"] * jnp.outer(q, jnp.sin(q)) + options["bias"]
    return {"m": m, "tau": jnp.where(options["on"], q @ m, 0.0), "next": index + 1, "high": index > 2}


def example(n=None, seed=0):
    rng = np.random.default_rng(seed)
    lead = () if n is None else (n,)
    options = {"gain": rng.normal(size=lead), "bias": rng.normal(size=(*lead, 7, 7)), "on": rng.random(lead) > 0.3}
    return rng.normal(size=(*lead, 7)), options, rng.integers(0, 5, lead)


@pytest.fixture(scope="module")
def kernel():
    return aot.compile_function(law, *example())


@pytest.fixture(scope="module")
def plain():
    return aot.compile_function(lambda a, b: (a @ b, jnp.cos(b)), np.zeros((3, 4)), np.zeros(4), name="plain")


@pytest.fixture
def file(kernel, tmp_path):
    kernel.save(tmp_path / "law.kernel")
    return tmp_path / "law.kernel"


# one state ----------------------------------------------------------------------------------------------------------


def test_call_agrees_with_jit(kernel, agrees):
    agrees(kernel(*example()), jax.jit(law)(*example()))


def test_results_are_fresh_and_writable(kernel):
    first, second = kernel(*example(seed=1)), kernel(*example(seed=2))
    first["m"][:] = 0
    assert second["m"].any()
    assert not np.shares_memory(first["m"], second["m"])


def test_out_is_written_and_returned(kernel, agrees):
    out = kernel(*example(seed=1))
    kept = out["m"]
    assert kernel(*example(seed=2), out=out) is out
    assert out["m"] is kept
    agrees(out, kernel(*example(seed=2)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda q, o, i: (q[:6], o, i), "q has shape (6,), the kernel takes (7,)"),
        (lambda q, o, i: (q[None], o, i), "q has shape (1, 7)"),
        (lambda q, o, i: (q + 1j, o, i), "q has type complex128"),
        (lambda q, o, i: (q, o, 1.5), "index has type float64"),
        (lambda q, o, i: (q, {"gain": 1.0}, i), "'bias', 'gain', 'on'"),
        (lambda q, o, i: (q, o), "a sequence of 3"),
    ],
)
def test_bad_arguments_are_named(kernel, change, words):
    with pytest.raises(KernelArgumentError) as error:
        kernel(*change(*example()))
    assert words in str(error.value)


def test_out_of_the_wrong_kind_is_refused(kernel):
    out = kernel(*example())
    with pytest.raises(KernelArgumentError, match=r"out: .* must be a writable float64 array of shape \(7, 7\)"):
        kernel(*example(), out=out | {"m": np.zeros((7, 7), np.float32)})
    out["m"].flags.writeable = False
    with pytest.raises(KernelArgumentError, match="writable"):
        kernel(*example(), out=out)


def test_bound_kernel_reads_and_writes_its_own_arrays(plain):
    bound = plain.bind()
    bound.inputs[0][:] = np.arange(12).reshape(3, 4)
    bound.inputs[1][:] = 2.0
    bound.run()
    np.testing.assert_array_equal(bound.outputs[0], np.arange(12).reshape(3, 4) @ np.full(4, 2.0))
    np.testing.assert_array_equal(bound.fresh()[1], bound.outputs[1])
    assert all(array.ctypes.data % 64 == 0 for array in bound.inputs[:1])


def test_run_alone_keeps_its_arrays_alive(plain):
    bound = plain.bind()
    run, inputs = bound.run, [weakref.ref(array) for array in bound.inputs]
    del bound
    gc.collect()
    assert all(reference() is not None for reference in inputs)
    run()


def test_threads_do_not_share_buffers(plain):
    a = np.random.default_rng(0).normal(size=(3, 4))
    arguments = [np.full(4, float(i)) for i in range(4)]
    expected = [plain(a, b)[1] for b in arguments]
    wrong = []

    def work(b, right):
        wrong.extend(b for _ in range(300) if not np.array_equal(plain(a, b)[1], right))

    threads = [threading.Thread(target=work, args=pair) for pair in zip(arguments, expected, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_repr_and_source(kernel):
    assert "law(q[7], options['bias'][7, 7]" in repr(kernel)
    assert "kernel_call" in kernel.c_source


class Pair(NamedTuple):
    first: object
    second: object


def test_named_tuples_and_modules_come_back_as_themselves(tmp_path, agrees):
    from franka_jax import Payload

    def swap(pair, payload):
        return Pair(pair.second, payload)

    arguments = Pair(np.ones(2), np.zeros(())), Payload(1.0, np.ones(3), np.eye(3))
    kernel = aot.compile_function(swap, *arguments)
    result = kernel(*arguments)
    assert isinstance(result, Pair)
    assert isinstance(result.second, Payload)
    agrees(jax.tree.leaves(result), jax.tree.leaves(swap(*arguments)))
    kernel.save(tmp_path / "swap.kernel")
    alone = load(tmp_path / "swap.kernel")(*arguments)
    np.testing.assert_array_equal(alone.second.I_total, np.eye(3))


# many states --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("states", [0, 1, 2, 7, 8, 9, 100])
def test_batch_agrees_with_vmap(kernel, agrees, states):
    expected = jax.vmap(law)(*example(states))
    agrees(kernel.batch(*example(states)), jax.tree.map(np.asarray, expected))


LAYOUTS = {
    "fortran": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=0)[::2],
    "reversed": lambda x: x[::-1].copy()[::-1],
    "inner_strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "padded_rows": lambda x: np.concatenate([x, x], 1)[:, : x.shape[1]],
    "unaligned": lambda x: np.frombuffer(b"-" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape),
    "float32": lambda x: x.astype(np.float32),
    "integer": lambda x: (10 * x).astype(int),
    "byte_swapped": lambda x: x.astype(">f8"),
    "list": lambda x: x.tolist(),
    "jax": jnp.asarray,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("threads", [1, 2])
def test_every_memory_layout_gives_the_same(plain, layout, threads):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(600, 3, 4)), rng.normal(size=(600, 4))
    x, y = LAYOUTS[layout](a), LAYOUTS[layout](b)
    expected = plain.batch(np.ascontiguousarray(x, float), np.ascontiguousarray(y, float))
    for f, e in zip(plain.batch(x, y, threads=threads), expected, strict=True):
        np.testing.assert_array_equal(f, e)


def test_batch_writes_into_views(plain):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(20, 3, 4)), rng.normal(size=(20, 4))
    out = np.zeros((40, 3))[::2], np.zeros((4, 20)).T
    assert plain.batch(a, b, out=out) is out
    for f, e in zip(out, plain.batch(a, b), strict=True):
        np.testing.assert_array_equal(f, e)


def test_one_argument_for_all_states(plain):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 4)), rng.normal(size=(30, 4))
    found = plain.batch(a, b, in_axes=(None, 0))
    for f, e in zip(found, plain.batch(np.broadcast_to(a, (30, 3, 4)), b), strict=True):
        np.testing.assert_array_equal(f, e)


#: More than a cache holds: results are written past the caches, in whole aligned vectors.
MANY = 40_003


@pytest.fixture(scope="module")
def many(plain):
    """Arguments of many states, and their results computed in parts that fit into the cache."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 4)), rng.normal(size=(MANY, 4))
    parts = [plain.batch(a, b[i : i + 1000], in_axes=(None, 0)) for i in range(0, MANY, 1000)]
    return a, b, [np.concatenate(x) for x in zip(*parts, strict=True)]


@pytest.mark.parametrize("offset", [0, 1, 2, 3, 5, 7])
@pytest.mark.parametrize("threads", [1, 2])
def test_many_states_at_every_alignment(plain, many, offset, threads):
    a, b, expected = many
    memory = [np.full(x.size + 16, 7.25) for x in expected]
    out = tuple(m[offset : offset + x.size].reshape(x.shape) for m, x in zip(memory, expected, strict=True))
    plain.batch(a, b, in_axes=(None, 0), out=out, threads=threads)
    for m, f, e in zip(memory, out, expected, strict=True):
        np.testing.assert_array_equal(f, e)
        assert (m[:offset] == 7.25).all()
        assert (m[offset + f.size :] == 7.25).all()


@pytest.mark.parametrize("blocks", [3, 6000])
@pytest.mark.parametrize("shared", [False, True])
def test_blocks_are_the_same_numbers(plain, many, blocks, shared):
    a, b = many[0], np.resize(many[1], (blocks * plain.lanes, 4))
    bound = plain.bind_blocks(len(b), (None, 0) if shared else None)
    assert bound.inputs[0].shape == (*([] if shared else [blocks]), 3, 4, plain.lanes)
    bound.inputs[0][...] = a[..., None]
    bound.inputs[1][...] = np.moveaxis(b.reshape(blocks, plain.lanes, 4), 1, -1)
    bound.run()
    for found, expected in zip(bound.outputs, plain.batch(a, b, in_axes=(None, 0)), strict=True):
        np.testing.assert_array_equal(np.moveaxis(found, -1, 1).reshape(expected.shape), expected)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.zeros((5, 3, 4)), np.zeros((6, 4))), "lengths [5, 6]"),
        ((np.zeros((3, 4)), np.zeros((6, 4))), "takes (N, 3, 4)"),
        ((np.zeros((4, 3, 5)), np.zeros((4, 4))), "(4, 3, 5), the kernel takes (N, 3, 4)"),
    ],
)
def test_bad_batches_are_named(plain, arguments, words):
    with pytest.raises(KernelArgumentError) as error:
        plain.batch(*arguments)
    assert words in str(error.value)


# files --------------------------------------------------------------------------------------------------------------


def test_saved_kernel_runs_without_jax(file, kernel):
    np.savez(file.with_suffix(".npz"), *jax.tree.leaves(kernel.batch(*example(9))))
    code = (
        "import sys; sys.modules['jax'] = sys.modules['jaxlib'] = sys.modules['franka_jax'] = None\n"
        "import numpy as np; from franka_rt.kernel import load\n"
        f"kernel = load({str(file)!r})\n"
        "rng = np.random.default_rng(0)\n"
        "options = {'gain': rng.normal(size=9), 'bias': rng.normal(size=(9, 7, 7)), 'on': rng.random(9) > 0.3}\n"
        "result = kernel.batch(rng.normal(size=(9, 7)), options, rng.integers(0, 5, 9))\n"
        f"expected = np.load({str(file.with_suffix('.npz'))!r})\n"
        "for name, value in zip(expected, (result[k] for k in sorted(result))):\n"
        "    np.testing.assert_array_equal(expected[name], value)\n"
        "assert result['high'].dtype == bool and result['next'].dtype == np.int64\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def _with_manifest(data, change):
    """The container with a changed manifest and a correct checksum."""
    import hashlib

    fields = list(struct.unpack_from("<8sIIQQ32s", data))
    body = data[64:]
    manifest = json.loads(body[: fields[2]])
    manifest.update(change)
    text = json.dumps(manifest).encode()
    body = text + body[fields[2] :]
    fields[2], fields[5] = len(text), hashlib.sha256(body).digest()
    return struct.pack("<8sIIQQ32s", *fields) + body


DAMAGE = {
    "empty": (lambda d: b"", "truncated"),
    "not_a_kernel": (lambda d: b"\x7fELF" + d, "not a compiled kernel"),
    "header_only": (lambda d: d[:40], "truncated"),
    "truncated": (lambda d: d[:-1], "truncated or damaged"),
    "half": (lambda d: d[: len(d) // 2], "truncated or damaged"),
    "flipped_bit": (lambda d: d[:5000] + bytes([d[5000] ^ 1]) + d[5001:], "checksum"),
    "newer_container": (lambda d: d[:8] + struct.pack("<I", 99) + d[12:], "newer version"),
    "newer_interface": (lambda d: _with_manifest(d, {"interface": 99}), "binary interface 99"),
    "other_machine": (lambda d: _with_manifest(d, {"machine": "riscv64"}), "compiled for Linux riscv64"),
    "other_system": (lambda d: _with_manifest(d, {"system": "Plan9"}), "compiled for Plan9"),
    "cpu_features": (lambda d: _with_manifest(d, {"cpu_features": ["avx9000"]}), "lacks (avx9000)"),
    "no_manifest": (lambda d: _with_manifest(d, {"inputs": None}), "manifest"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_bad_file_is_refused_with_the_reason(file, name):
    damage, words = DAMAGE[name]
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(KernelException) as error:
        load(file)
    assert words in str(error.value)
    assert str(file) in str(error.value)


def test_a_missing_file_and_a_missing_folder_are_named(kernel, tmp_path):
    with pytest.raises(KernelException, match=r"nothing\.kernel cannot be read: No such file"):
        load(tmp_path / "nothing.kernel")
    with pytest.raises(KernelException, match="cannot be written: No such file"):
        kernel.save(tmp_path / "no" / "x.kernel")


def test_a_failed_save_leaves_nothing(kernel, tmp_path, monkeypatch):
    (tmp_path / "x.kernel").mkdir()
    with pytest.raises(KernelException, match="cannot be written"):
        kernel.save(tmp_path / "x.kernel")
    assert os.listdir(tmp_path) == ["x.kernel"]


# cache --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def compilations(monkeypatch, tmp_path):
    """An empty cache, and the calls of the C compiler."""
    monkeypatch.setenv("FRANKA_JAX_CACHE", str(tmp_path / "cache"))
    calls = []
    real = toolchain.Toolchain.shared_object

    def counting(self, *arguments, **options):
        calls.append(self)
        return real(self, *arguments, **options)

    monkeypatch.setattr(toolchain.Toolchain, "shared_object", counting)
    return calls


def double(x):
    return 2 * x


def test_second_compilation_comes_from_the_cache(compilations):
    for _ in range(2):
        assert aot.compile_function(double, np.ones(2))(np.ones(2)).tolist() == [2, 2]
    assert len(compilations) == 1
    aot.compile_function(double, np.ones(3))
    aot.compile_function(lambda x: 3 * x, np.ones(2))
    aot.compile_function(double, np.ones(2), cpu="x86-64")
    assert len(compilations) == 4


def test_content_key_needs_no_tracing(compilations, monkeypatch):
    aot.compile_function(double, np.ones(2), content_key="double 1")
    monkeypatch.setattr(compile, "trace", None)
    assert aot.compile_function(double, np.ones(2), content_key="double 1")(np.ones(2)).tolist() == [2, 2]
    assert len(compilations) == 1


def test_a_damaged_cache_entry_is_compiled_again(compilations):
    aot.compile_function(double, np.ones(2))
    for path in cache.cache_directory().iterdir():
        path.write_bytes(path.read_bytes()[:-10])
    assert aot.compile_function(double, np.ones(2))(np.ones(2)).tolist() == [2, 2]
    assert len(compilations) == 2


def test_a_cache_that_cannot_be_written_warns(compilations, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FRANKA_JAX_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="cannot be cached"):
        assert aot.compile_function(double, np.ones(2))(np.ones(2)).tolist() == [2, 2]


def test_two_processes_compile_at_once(tmp_path):
    code = (
        "import numpy as np; from franka_jax import aot\n"
        "print(aot.compile_function(lambda x: x + 1, np.ones(2))(np.ones(2)).tolist())"
    )
    environment = os.environ | {"FRANKA_JAX_CACHE": str(tmp_path), "JAX_PLATFORMS": "cpu"}
    start = [sys.executable, "-c", code]
    running = [subprocess.Popen(start, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate(timeout=120)[0].strip() for process in running] == ["[2.0, 2.0]"] * 2
    assert [path.suffix for path in tmp_path.iterdir()] == [".kernel"]


# compilers ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def no_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)


@pytest.fixture
def fallback(no_compiler):
    with pytest.warns(aot.MissingCompilerWarning, match="no C compiler was found .* slower"):
        return aot.compile_function(law, *example())


def test_fallback_gives_the_same(fallback, agrees):
    assert fallback.backend == "xla"
    agrees(fallback(*example()), jax.jit(law)(*example()))
    out = fallback(*example(seed=1))
    assert fallback(*example(seed=2), out=out) is out
    agrees(out, jax.jit(law)(*example(seed=2)))
    for states in (0, 1, 5):
        expected = jax.tree.map(np.asarray, jax.vmap(law)(*example(states)))
        agrees(fallback.batch(*example(states)), expected)
    agrees(fallback.jax(*example()), jax.jit(law)(*example()))
    assert "kernel_call" in fallback.c_source


def test_fallback_cannot_be_saved(fallback, tmp_path):
    with pytest.raises(KernelException, match="install a C compiler"):
        fallback.save(tmp_path / "x.kernel")
    assert not any(tmp_path.glob("*.kernel"))


def test_fallback_refuses_what_kernels_refuse(fallback):
    with pytest.raises(KernelArgumentError, match=r"q has shape \(6,\)"):
        fallback(np.zeros(6), *example()[1:])


def test_a_failing_compiler_says_what_it_said(monkeypatch, tmp_path):
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\necho 'disk full' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    monkeypatch.setenv("FRANKA_JAX_CACHE", str(tmp_path / "cache"))
    with pytest.raises(aot.CompilerError, match=r"(?s)cc failed.*disk full"):
        aot.compile_function(double, np.ones(2))


def test_an_unsupported_primitive_is_named_with_its_line():
    def uses_eigh(x):
        y = x + 1
        return jnp.linalg.eigh(y)[0]  # this line

    with pytest.raises(aot.UnsupportedPrimitive) as error:
        aot.compile_function(uses_eigh, np.eye(3))
    line = uses_eigh.__code__.co_firstlineno + 2
    assert error.value.primitive == "eigh"
    assert f"{__file__}:{line} (" in str(error.value)
    assert "uses_eigh)" in str(error.value)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (
            lambda x: jax.lax.while_loop(lambda c: c[0] < x[0], lambda c: (c[0] + 1,), (0.0,)),
            "number of iterations depends",
        ),
        (lambda x: jnp.exp(1j * x), "complex128"),
        (lambda x: x.astype(int) << 2, "'shift_left'"),
    ],
)
def test_unsupported_uses_say_why(function, words):
    with pytest.raises(aot.UnsupportedPrimitive, match=words):
        aot.compile_function(function, np.ones(2))


def test_long_functions_are_split(agrees):
    """Values cross between the parts of a function that is compiled in pieces."""

    def chain(x):
        x = jax.lax.fori_loop(0, 300, lambda i, x: jnp.sin(x) * x[::-1] + x.sum() / (5 + i), x)
        return x, x > 0, jnp.argmax(x)

    x = np.linspace(-1, 1, 5)
    kernel = aot.compile_function(chain, x, optimize="-O1")
    assert "part_1" in kernel.c_source
    agrees(kernel(x), jax.jit(chain)(x), 1e-13)


def test_interface_version_is_the_same_on_both_sides():
    from franka_jax.aot import entry_points

    assert entry_points.INTERFACE_VERSION == artefact.INTERFACE_VERSION
