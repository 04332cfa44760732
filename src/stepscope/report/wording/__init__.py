"""Sentences that several renderers say, one module per subject."""
