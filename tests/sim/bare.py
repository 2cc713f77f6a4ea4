"""The bare protocol over sockets, for what the client proper would not do."""

import socket

from franka_rt.connection import ClientConnection
from franka_rt.dialect import Status
from franka_rt.events import Answer


class Client:
    """The bare protocol: requests by hand, answers by id."""

    def __init__(self, host, port, dialect):
        self.connection = ClientConnection(dialect)
        self.answers: dict[int, Answer] = {}
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((host, 0))
        self.udp.settimeout(5.0)
        self.tcp = socket.create_connection((host, port), timeout=10.0)
        command_id, message = self.connection.connect(self.udp.getsockname()[1])
        self.tcp.sendall(message)
        answer = self.wait(command_id)
        assert (answer.status, answer.body["version"]) == (Status.SUCCESS, dialect.version)

    def send(self, command, **fields):
        command_id, message = self.connection.request(command, **fields)
        self.tcp.sendall(message)
        return command_id

    def wait(self, command_id) -> Answer:
        while command_id not in self.answers:
            self.connection.receive_data(self.tcp.recv(4096))
            self.answers |= {event.command_id: event for event in self.connection.events() if isinstance(event, Answer)}
        return self.answers[command_id]

    def ask(self, command, **fields):
        return self.wait(self.send(command, **fields)).status

    def close(self):
        self.tcp.close()
        self.udp.close()
