"""Laws for the tests of the loops, and the loops as something to parametrise over."""

import contextlib
from unittest import mock

import jax.numpy as jnp
import numpy as np

from franka_jax import aot
from franka_rt import KernelLaw
from franka_rt.errors import RealtimeException

SEVEN, Q = np.zeros(7), np.array([0, -0.7, 0, -2.3, 0, 1.5, 0.7])
RAW = {"limit_rate": False, "cutoff_frequency": 1000.0}
LOOPS = ("reference", "python", "compiled")
"""All in Python, as without a C compiler; in Python up to the compiled cycle; in a process of its own."""


def run_in(loop, robot, law, **options):
    """``robot.control_torques`` in one of the loops."""
    with without_cycles() if loop == "reference" else contextlib.nullcontext():
        robot.control_torques(law, **options, compiled=loop == "compiled")


def without_cycles():
    """Inside, there is no compiled cycle to be had."""
    return mock.patch("franka_rt.compiled_loop.cycle.cycle_library", side_effect=RealtimeException("no compiler"))


def counting(q, memory, a, b, root, limit):
    """7 times a - b + sqrt(root) - 1; remembers how often it ran, and ends by itself."""
    count = memory["count"] + 1.0
    tau = a - b + jnp.sqrt(root) - 1.0 + 0.0 * q
    return {"tau": tau, "memory": {"count": count, "q": q}, "finished": count >= limit}


def wide(q, dq, tau_J_d, O_T_EE, I_load, elbow, ddq_d, m_ee, m_total, F_x_Ctotal, time, dt, memory, gains, target):
    """Every kind of input; torques beyond what the joints may be commanded, too."""
    spring = gains["k"] * (target - q) - gains["d"] * dq + 0.1 * tau_J_d + gains["m"] @ q
    small = O_T_EE[0, 3] + I_load[0, 1] * elbow[1] + ddq_d[6] + m_ee + m_total * F_x_Ctotal[2] + dt + (time - time)
    return {"tau": spring + small + memory, "memory": memory + 0.1}


def payload(q, I_total, m_total, scale):
    """The fields that a datagram does not have."""
    return scale * (I_total.reshape(9)[:7] * jnp.arange(1.0, 8.0) + m_total * q)


GAINS = {"k": np.linspace(10, 70, 7), "d": np.linspace(1, 7, 7), "m": np.arange(49.0).reshape(7, 7) * 0.3}
KERNELS = {
    "counting": (counting, (SEVEN, {"count": 0.0, "q": SEVEN}, 0.0, 0.0, 1.0, 0)),
    "wide": (
        wide,
        (*(SEVEN,) * 3, np.eye(4), np.eye(3), np.zeros(2), SEVEN, 0.0, 0.0, np.zeros(3), 0.0, 0.0, SEVEN, GAINS, SEVEN),
    ),
    "payload": (payload, (SEVEN, np.eye(3), 0.0, 1.0)),
}
_made = {}


def kernel(name):
    """Compiled once per session."""
    if name not in _made:
        function, arguments = KERNELS[name]
        _made[name] = aot.compile_function(function, *arguments)
    return _made[name]


def count_to(limit, count=0.0, **options):
    """A law that ends by itself in this cycle of its life."""
    memory = {"count": count, "q": SEVEN}
    return KernelLaw(
        kernel("counting"), **({"a": 0.0, "b": 0.0, "root": 1.0, "limit": limit, "memory": memory} | options)
    )


def endless(**options):
    """A law that somebody else ends."""
    return count_to(10**9, **options)


def torques(server):
    """(n,7) of all command datagrams."""
    return np.array([c.record["control"]["tau_J_d"] for c in server.commands])
