"""What the scenarios of all clients share."""

import json
import math
import os
import sys


def ordinary_scheduling():
    """The vendor's libraries raise the connecting thread to real-time priority when they may; a busy machine of two
    cores must not be starved by a test."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def errors(flags):
    """Names in libfranka's text of error flags."""
    return json.loads(str(flags))


def smooth(time, duration, amplitude):
    """From 0 to amplitude with zero velocity at both ends."""
    return amplitude * 0.5 * (1 - math.cos(math.pi * min(time / duration, 1.0)))


def main(scenarios):
    """Run the scenario named on the command line against the host named there; its result as JSON."""
    print(json.dumps(scenarios[sys.argv[1]](sys.argv[2])), flush=True)
