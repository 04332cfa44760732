"""What runs inside a training: the recorder and the probes of the frameworks.

This package is loaded into the Python that the user trains with, which may have no Stepscope: standard library only,
and nothing imported from `stepscope`. `stepscope.Recorder` and `stepscope.integrations` are its face to a program that
has one.
"""
