"""The loop without the interpreter: a kernel law run by a small C program in a process of its own.

``robot.control_torques(law, compiled=True)`` comes here. docs/compiled_loop.md says what it guarantees.

- :mod:`.loop`: one motion. Python starts it and ends it, the program runs its cycles.
- :mod:`.plan`: all that the program has to know, taken from the dialect, the conditioner and the law.
- :mod:`.memory`: the memory that both share, declared once for both languages.
- :mod:`.process`: the program as a process: started, watched, told to stop.
- :mod:`.program`: what is compiled from the C files, once, and kept in the cache.
- :mod:`.cycle`: the same C for the Python loop, one call per cycle.
- ``*.c``, ``*.h``: the program, and that call.
"""

from franka_rt.compiled_loop.loop import CompiledLoop

__all__ = ["CompiledLoop"]
