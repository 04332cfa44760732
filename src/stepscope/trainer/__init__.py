"""A trainer that does nanoGPT's job, accounts for every second of it and cannot lose its checkpoint.

Read in this order: `config` (the settings), `data` (tokens), `model` (the network and its optimizers), `device` (where
it runs), `accounts` (where the time goes), `state` (what a checkpoint holds), `checkpoint` and `writer` (saving without
stopping), `evaluate`, `runlog` (what a run prints and reports), `setup` (makes the parts of a run) and `train` (the
loop that takes them); `budget` where the time is limited, `sharded` where a model does not fit on one device.
Nothing here imports the rest of Stepscope; of the rest only the commands `train`, `sample`, `export` and `data` import
this.
"""
