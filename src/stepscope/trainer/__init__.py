"""A trainer that does nanoGPT's job, accounts for every second of it and cannot lose its checkpoint.

Read in this order: `config` (the settings), `data` (tokens), `model` (the network), `optimizers`, `device` (where it
runs), `accounts` (where the time goes), `state` (what a checkpoint holds), `checkpoint` and `writer` (saving without
stopping), `evaluate`, `runlog` (what a run prints and reports), `setup` (makes the parts of a run) and `train` (the
loop that takes them). `device_phases` is the clock of a GPU, `memory` what fits, `blocking` saves without a copy,
`folder` keeps what earlier runs left, `trackers` are W&B and TensorBoard, `sharded` is for models that do not fit on
one device; `selftest` tries all of it on a new machine, `bench` times steps.
Nothing here imports the rest of Stepscope; of the rest only the commands `train`, `sample`, `bench`, `export` and
`data` import this.
"""
