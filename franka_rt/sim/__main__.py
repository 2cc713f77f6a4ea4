"""The process of a simulated robot (see ``host.py``); people use ``python -m franka_rt sim``."""

from franka_rt.sim.host import serve_parent

if __name__ == "__main__":
    serve_parent()
