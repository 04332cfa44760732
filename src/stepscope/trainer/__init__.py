"""A trainer that does nanoGPT's job, accounts for every second of it and cannot lose its checkpoint.

Six files, to be read in this order: `config` (the settings), `data` (tokens), `model` (the network), `accounts` (where
the time goes), `state` (what the next iteration depends on: how it begins, is saved and put back) and `train` (the
loop, and what evaluates). `extras` has what the loop can be understood without.
Nothing here imports the rest of Stepscope; of the rest only the commands `train`, `sample`, `bench`, `export` and
`data` import this.
"""
