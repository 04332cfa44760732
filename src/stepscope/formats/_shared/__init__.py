"""Pieces that several formats have in common."""
