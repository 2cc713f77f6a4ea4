"""Rigid-body algorithms of a serial chain of revolute joints."""
