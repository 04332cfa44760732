"""Run → Report: the analysis from end to end, and the questions that need all of it."""
