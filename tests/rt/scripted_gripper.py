"""A scripted gripper or vacuum gripper: answers what it is told to, when it is told to."""

import dataclasses

from franka_rt.dialect import CommandName
from franka_rt.gripper_dialect import GRIPPER, DeviceStatus
from franka_rt.gripper_state import GripperState, VacuumGripperState
from tests.rt.scripted import ScriptedServer

STATES = {
    True: GripperState(1000, 0.04, 0.08, False, 30),
    False: VacuumGripperState(1000, True, False, True, DeviceStatus.GREEN, 50, 400),
}


class ScriptedGripper(ScriptedServer):
    """``pending`` holds the requests that ``hold`` left unanswered."""

    def __init__(self, dialect, **options):
        super().__init__(dialect, **options)
        self.period = 0.01
        self.pending = []
        self.on[CommandName.MOVE] = self.on[CommandName.STOP]  # answered once here, twice by an arm

    def first_state(self):
        return STATES[self.dialect is GRIPPER]

    def rest(self):
        pass

    def change(self, **fields):
        self.state = dataclasses.replace(self.state, **fields)

    def send_state(self):
        self.change(message_id=self.state.message_id + 10)
        self.udp.sendto(self.state.datagram(), self.client)

    def hold(self, *commands: CommandName):
        """Leave these unanswered for now."""
        self.on.update(dict.fromkeys(commands, lambda _, request: self.pending.append(request)))

    def raw_status(self, number):
        """Answer every command with this status number, defined or not."""

        def answer(server, request):
            spec = self.dialect.spec(request.command)
            body = int(number).to_bytes(2, "little")
            server.tcp.sendall(self.dialect.message(spec.wire_id, request.command_id, body))

        for command in self.dialect.commands:
            if command is not CommandName.CONNECT:
                self.on[command] = answer
