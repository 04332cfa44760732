"""Columns that grow row by row in a few bytes each: plain, run-length encoded, decimal as printed."""
