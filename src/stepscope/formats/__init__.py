"""The catalogue of log formats: one file per format; `_base.py` says what a format is made of."""
