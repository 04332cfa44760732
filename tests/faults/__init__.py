"""Faults on purpose: kills, full and vanishing disks, with real processes and real file systems.

A handful of each by default; `STEPSCOPE_FAULTS=100` (or `make faults`) makes it a hundred.
"""
