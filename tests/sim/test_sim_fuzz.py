"""Whatever clients, people and bad luck do in whatever order: the arm stays within the protocol and keeps going."""

import numpy as np
import pytest

from franka_rt.dialect import CommandName, ControllerMode, GeneratorMode, RobotMode, Status
from franka_rt.sim.modes import Event
from tests.reference import READY
from tests.sim.driver import GENERATOR_OF, Driver

HAPPEN = (Event.USER_STOP, Event.RELEASE, Event.GUIDE, Event.SAFETY)


class Chaos:
    """Random operations on an arm, all drawn from one seed."""

    def __init__(self, driver: Driver, seed: int) -> None:
        self.driver, self.rng = driver, np.random.default_rng(seed)
        self.operations = (self.wait, self.obey, self.obey, self.obey, self.misbehave, self.move, self.move, self.stop)
        self.operations += (self.recover, self.set_something, self.happen, self.push, self.vanish, self.finish)

    def act(self) -> None:
        self.operations[self.rng.integers(len(self.operations))]()
        if self.rng.random() < 0.02:
            self.driver.arm.reset(READY)

    def wait(self) -> None:
        self.driver.tick(int(self.rng.integers(1, 30)))

    def obey(self) -> None:
        self.driver.hold(self.rng.choice(list(GENERATOR_OF)), 5)

    def misbehave(self) -> None:
        name = self.rng.choice(list(GENERATOR_OF))
        value = self.rng.choice([1e-6, 1e-3, 1.0, 1e9, np.nan, np.inf]) * self.rng.standard_normal(
            self.driver.still(name).shape
        )
        self.driver.step(self.rng.random() < 0.3, None, **{name: value})

    def move(self) -> None:
        generator = list(GENERATOR_OF.values())[self.rng.integers(len(GENERATOR_OF))]
        controller = ControllerMode(self.rng.integers(3))
        fields = {}
        if self.driver.dialect.async_motions and generator is GeneratorMode.JOINT_POSITION and self.rng.random() < 0.5:
            fields = {"use_async_motion_generator": 1, "maximum_velocity": np.full(7, 0.5)}
        self.driver.move(generator, controller, **fields)

    def stop(self) -> None:
        self.driver.ask(CommandName.STOP_MOVE)

    def recover(self) -> None:
        self.driver.ask(CommandName.AUTOMATIC_ERROR_RECOVERY)

    def set_something(self) -> None:
        mass = self.rng.choice([0.0, 0.5, -1.0, np.nan])
        self.driver.ask(CommandName.SET_LOAD, m_load=mass, I_load=np.eye(3).ravel() * 0.01)

    def happen(self) -> None:
        self.driver.arm.happen(HAPPEN[self.rng.integers(len(HAPPEN))])

    def push(self) -> None:
        self.driver.arm.plant.push(self.rng.standard_normal(6) * 20.0, 0.02)

    def vanish(self) -> None:
        self.driver.arm.disconnect()

    def finish(self) -> None:
        name = self.rng.choice(list(GENERATOR_OF))
        self.driver.step(True, None, **{name: self.driver.still(name)})


@pytest.mark.parametrize("seed", range(6))
def test_chaos(driver, seed):
    chaos = Chaos(driver, seed)
    for _ in range(120):
        chaos.act()
        state = driver.tick()
        moving = driver.arm.motion is not None
        assert (state.robot_mode is RobotMode.MOVE) == moving
        assert moving or state.modes[:2] == (GeneratorMode.IDLE, ControllerMode.OTHER)
        assert np.isfinite(state.reals).all()
        assert 0.0 <= state.control_command_success_rate <= 1.0
    moves = [status for name, status in driver.answers if name is CommandName.MOVE]
    started = moves.count(Status.MOTION_STARTED)
    ended = len([s for s in moves if s not in (Status.MOTION_STARTED, *REFUSALS)])
    assert started > 0
    assert ended <= started


REFUSALS = (
    Status.COMMAND_NOT_POSSIBLE_REJECTED,
    Status.INVALID_ARGUMENT_REJECTED,
    Status.START_AT_SINGULAR_POSE_REJECTED,
)
