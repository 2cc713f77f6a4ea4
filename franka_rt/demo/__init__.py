"""The demonstration: a Cartesian impedance law with the model in the loop, on both arms, while they are pushed.

``law`` compiles it, ``course`` runs it against a simulated arm and notes what happens, ``figures`` draws that, and
``command`` is ``python -m franka_rt demo``.
"""
