"""Stepscope: where every second of a training run went, why an iteration was slow, when it ends, what to change."""
__version__ = "0.1.0"
