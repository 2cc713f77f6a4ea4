"""What becomes of a motion when something goes wrong, on the simulated robots of both versions, as a table.

    python -m benchmarks.faults

Each fault strikes motions of three kinds: a torque loop, a joint position loop, active control of torques. A row says
how the motion ended for the program, and how long after the fault (for a regular end: after the start), the longest of
the three. It ends in an AssertionError if that is not what has to come out, if the arm still moves afterwards, if the
program cannot go on, or if a thread or a descriptor is left; ``tests/rt/test_faults.py`` runs the same table.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from benchmarks.fault_runs import KINDS, Expected, Fault, Result, Run, eventually, run
from franka_rt.errors import CommandException, ControlException, NetworkException, ProtocolException
from franka_rt.sim import Faults, SimulatedRobot

VERSIONS = ("FCI version 5", "FCI version 10")
CYCLES = 40


class UserError(Exception):
    """What a user's callback may raise."""


ARRIVES = Expected()
REFLEX = Expected(ControlException, "libfranka: Move command aborted: motion aborted by reflex!")
LOST = Expected(ControlException, '["communication_constraints_violation"]')
SILENT = Expected(NetworkException, "libfranka: UDP receive: Timeout\nThe robot's states had arrived and then stopped")
CLOSED = Expected((ControlException, NetworkException), "libfranka: ")
PREEMPTED = Expected(ControlException, "libfranka: Move command preempted!")


def link(**faults: Any) -> Callable[[Run], object]:
    """The simulated robot's network gets such faults."""
    return lambda run: run.sim.set_faults(Faults(**faults))


def fail(error: BaseException) -> Callable[[Run], object]:
    """The user's code raises."""

    def strike(run: Run) -> None:
        raise error

    return strike


def soon(action: Callable[[Run], object]) -> Callable[[Run], object]:
    """Another thread acts a few milliseconds later."""

    def strike(run: Run) -> None:
        run.helper = threading.Timer(0.005, action, (run,))
        run.helper.start()

    return strike


def push(run: Run) -> None:
    """Somebody runs into the arm."""
    run.sim.push([0, 0, -150, 0, 0, 0], 1.0)


def lean(run: Run) -> None:
    """Somebody leans on the arm before the motion starts."""
    push(run)
    eventually(lambda: run.sim.state().K_F_ext_hat_K[2] ** 2 > 100**2, "the arm does not feel the push")


FAULTS = (
    Fault("no fault", ARRIVES, at=0, last=CYCLES),
    Fault("finished in the first callback", ARRIVES, at=1, last=1),
    Fault("10 % of the states lost", ARRIVES, link(drop_states=0.1), 0, last=CYCLES),
    Fault("10 % of the commands lost", ARRIVES, link(drop_commands=0.1), 0, last=CYCLES),
    Fault("10 % of the states 2 ms late", ARRIVES, link(delay_states=0.1), 0, last=CYCLES),
    Fault("10 % of the commands 2 ms late", ARRIVES, link(delay_commands=0.1), 0, last=CYCLES),
    Fault("20 % of the states twice", ARRIVES, link(duplicate_states=0.2), 0, last=CYCLES),
    Fault("20 % of the commands twice", ARRIVES, link(duplicate_commands=0.2), 0, last=CYCLES),
    Fault("20 % of the states swapped", ARRIVES, link(reorder_states=0.2), 0, last=CYCLES),
    Fault("20 % of the commands swapped", ARRIVES, link(reorder_commands=0.2), 0, last=CYCLES),
    Fault("no command arrives any more", LOST, link(drop_commands=1.0)),
    Fault("every state 3 ms late", LOST, link(delay_states=1.0, delay_ticks=3)),
    Fault("every command 3 ms late", LOST, link(delay_commands=1.0, delay_ticks=3)),
    Fault("no state arrives any more", SILENT, link(silent_after=0), silent=True),
    Fault("neither states nor answers any more", SILENT, link(silent_after=0, answer_size=0), silent=True),
    Fault(
        "states of a wrong size", Expected(ProtocolException, "libfranka: incorrect object size"), link(state_size=99)
    ),
    Fault("TCP connection reset", Expected(NetworkException, "Connection reset by peer"), link(cut_tcp_after=0)),
    Fault("reflex before the motion shows", Expected(ControlException, REFLEX.text + "\n"), lean, 0),
    Fault("reflex in the first cycle", REFLEX, at=1, step=True),
    Fault("reflex while running (jump)", REFLEX, step=True),
    Fault("reflex while running (collision)", REFLEX, push),
    Fault(
        "reflex while finishing",
        Expected(ControlException, "Motion finished commanded, but the robot is still moving!"),
        at=CYCLES,
        step=True,
        last=CYCLES,
    ),
    Fault(
        "refused start (user stop pressed)",
        Expected(CommandException, 'command not possible in the current mode ("User stopped")!'),
        lambda run: run.sim.press_user_stop(),
        0,
    ),
    Fault(
        "user stop",
        Expected(ControlException, "libfranka: Move command aborted: User Stop pressed!"),
        lambda run: run.sim.press_user_stop(),
    ),
    Fault("stop() from another thread", PREEMPTED, soon(lambda run: run.robot.stop())),
    Fault("stop() in the callback", PREEMPTED, lambda run: run.robot.stop()),
    Fault("exception in the first callback", Expected(UserError, "mine"), fail(UserError("mine")), 1),
    Fault("exception in a callback", Expected(UserError, "mine"), fail(UserError("mine"))),
    Fault("SystemExit in a callback", Expected(SystemExit, "3"), fail(SystemExit(3))),
    Fault("Ctrl-C", Expected(KeyboardInterrupt), soon(lambda run: os.kill(os.getpid(), signal.SIGINT))),
    Fault("close() from another thread", CLOSED, soon(lambda run: run.robot.close())),
)


def table(results: Iterable[Result]) -> Iterator[str]:
    """Lines of Markdown: motions and versions of one outcome share a row."""
    rows: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        rows.setdefault((result.fault, result.outcome), []).append(result)
    yield "| fault | motions | outcome | version 5 | version 10 |"
    yield "|---|---|---|---|---|"
    for (fault, outcome), found in rows.items():
        kinds = [kind for kind in KINDS if kind in {result.kind for result in found}]
        slowest = [max((r.milliseconds for r in found if r.version == v), default=None) for v in VERSIONS]
        times = " | ".join("" if t is None else f"{t:.0f} ms" for t in slowest)
        yield f"| {fault} | {'all' if len(kinds) == len(KINDS) else ', '.join(kinds)} | {outcome} | {times} |"


def main() -> None:
    """Print the table, with the vendor's own time limits."""
    os.environ.setdefault("FRANKA_RT_PRIORITY", "0")
    results = []
    for name in ("fer", "fr3"):
        with SimulatedRobot(name, port=0, gripper_port=None, realtime=False, patience=0.02) as sim:
            results += [run(sim, fault, kind) for fault in FAULTS for kind in KINDS]
    order = [fault.name for fault in FAULTS]
    print("\n".join(table(sorted(results, key=lambda result: order.index(result.fault)))))


if __name__ == "__main__":
    main()
