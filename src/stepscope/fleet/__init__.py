"""Many runs: found in folders and buckets, explained each, kept as tables, and asked where their hours went.

`listing` and `buckets` find files, `candidates` says which of them may be one run, `work` explains a chunk of them
anywhere, `rows` makes rows of a report, `store` keeps them, `engines` says where the work is done, `scan` joins them.
"""
