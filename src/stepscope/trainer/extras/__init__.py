"""What the loop uses and can be understood without: devices, disks, a GPU's clock, several processes, other programs.

The run's folder: `folder` (one trainer at a time, earlier runs kept), `append` (files on a full disk), `totals` (sums
for the ledger), `trackers` (W&B, TensorBoard). Checkpoints on their way: `shared_memory`, `torch_file` and `writer`
(the process that writes), `blocking` (without it), `found` (which there are, and whether they are whole), `sharded`
(models that do not fit on one device), `spread` (optimizers over several processes). The machine: `device`, `memory`,
`process`, `clock`. Data and text: `corpora`, `weights`, `text`. Commands: `bench`, `export`, `selftest`.
"""
