"""A trainer that does nanoGPT's job, accounts for every second of it and cannot lose its checkpoint.

Read in this order: `config` (the settings), `data` (tokens), `model` (the network and its optimizers), `device` (where
it runs), `accounts` (where the time goes), `checkpoint` and `writer` (saving without stopping), `evaluate`, `setup`
(putting it together) and `train` (the loop); `sharded` where a model does not fit on one device.
Nothing here imports the rest of Stepscope; of the rest only the commands `train`, `sample`, `export` and `data` import
this.
"""
