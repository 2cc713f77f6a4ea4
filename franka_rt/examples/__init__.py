"""Programs to begin with, one motion or device each: ``python -m franka_rt.examples`` lists them.

``python -m franka_rt.examples.NAME HOST`` runs one with a robot, ``... --sim fr3`` with a simulated one. None has a
default host, and each says what the arm will do and asks before a real one moves. The vendor's communication test is a
command, ``python -m franka_rt communication-test``.

Read them in the order of the list: what they share is in ``setup.py`` (thresholds, going to a pose), ``profiles.py``
(how a motion begins and ends smoothly) and ``runner.py`` (command line, simulated robot, errors).
"""
