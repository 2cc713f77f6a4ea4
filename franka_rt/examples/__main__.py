"""``python -m franka_rt.examples``: what there is."""

from __future__ import annotations

import ast
from pathlib import Path

# in the order in which they are best read
NAMES = (
    "echo_robot_state",
    "print_joint_poses",
    "joint_point_to_point_motion",
    "generate_joint_position_motion",
    "generate_joint_velocity_motion",
    "generate_cartesian_pose_motion",
    "generate_cartesian_velocity_motion",
    "generate_elbow_motion",
    "active_control_motion",
    "motion_with_control",
    "joint_impedance_control",
    "cartesian_impedance_control",
    "compiled_impedance",
    "force_control",
    "grasp_object",
    "vacuum_object",
)


def summary(name: str) -> str:
    """First line of an example's text."""
    source = (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").splitlines()[0]


def main() -> None:
    """Print the list."""
    for name in NAMES:
        print(f"{name:36}{summary(name)}")
    print("\npython -m franka_rt.examples.NAME HOST, or --sim fer, or --sim fr3; --help says the rest.")


if __name__ == "__main__":
    main()
