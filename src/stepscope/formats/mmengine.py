"""MMEngine and, before it, mmcv (MMDetection, MMSegmentation and their kin): the text log."""

from stepscope.lines.format import Clock, Format, Layout, Line, Sample

_NUMBER = r"[-+]?(?:[\d.]++(?:[eE][-+]?\d++)?|nan|inf|NaN|Inf)"
_LOGGER = r"(?:mm\w+ - INFO - )"
_FIGURES = (
    r"(?>.{0,200}?\beta: (?:-?\d+ days?, )?[\d:]+,? +time: (?P<dur_s>[\d.]+),? +data_time: (?P<data_s>[\d.]+))"
    rf"(?=\D|$)(?:.{{0,2000}}?[ \t]loss: (?P<loss>{_NUMBER}))?"
)

FORMAT = Format(
    title="MMEngine",
    url="https://github.com/open-mmlab/mmengine",
    lines=(
        Line(
            "step",
            rf"{_LOGGER}?Epoch(?:\(train\))? +\[(?P<epoch>\d+)\]\[ *(?P<batch>\d+)/(?P<batches>\d+)\]\s+"
            rf"(?:base_)?lr: {_FIGURES}",
        ),
        Line(
            "step",
            rf"{_LOGGER}?Iter(?:\(train\))? +\[ *(?P<step>\d+)/(?P<total>\d+)\]\s+(?:base_)?lr: {_FIGURES}",
        ),
        # The progress of an evaluation has an eta, its result has none.
        Line("chatter", rf"{_LOGGER}?(?:Epoch|Iter)\((?:val|test)\) +(?:\[\d+\])?\[ *\d+/\d+\]\s+eta: "),
        Line(
            "evaluation",
            rf"{_LOGGER}?(?:Epoch|Iter)\((?:val|test)\) +(?:\[ *\d+\])?"
            r"\[ *+(?:(?P<took_batch>\d+)/(?P<took_batches>\d+)|[\d ]+)\]\s+(?!eta: )[\w@/.]+: \S"
            r"(?:.{0,2000}?\s(?<!_)time: (?P<took_mean_s>[\d.]+))?",
        ),
        Line("checkpoint", rf"{_LOGGER}?Saving checkpoint at \d+ (?:epochs|iterations)"),
        Line("checkpoint", rf"{_LOGGER}?The best checkpoint with .{{1,80}} is saved to (?P<path>\S+?)\.?\s*$"),
        Line("checkpoint", rf"{_LOGGER}?Now best checkpoint is saved as (?P<path>\S+?)\.?\s*$"),
        Line("start", r"System environment:\s*$"),
        Line("start", rf"{_LOGGER}?(?:Environment info:|Start running, host: )"),
        Line("resume", rf"{_LOGGER}?resumed? (?:from )?epoch:? \d+, iter:? \d+"),
        Line("fact", rf"{_LOGGER}?workflow: .{{1,80}}, max: (?P<epochs>\d+) epochs"),
        Line("fact", rf"{_LOGGER}?workflow: .{{1,80}}, max: (?P<total>\d+) iters"),
        Line(
            "fact", r"(?:train_cfg ?= ?dict\(.{0,100}?\b|runner ?= ?dict\(.{0,100}?\b)?max_epochs ?= ?(?P<epochs>\d+)"
        ),
        Line("fact", r"total_epochs ?= ?(?P<epochs>\d+)\s*$"),
        Line(
            "chatter",
            rf"{_LOGGER}(?!(?:Epoch|Iter)[ (]|Saving checkpoint|The best checkpoint|Now best|Environment info"
            r"|Start running|resume|workflow: )|mm\w+ - WARNING - ",
        ),
        Line("chatter", r"mm\w+ - INFO -\s*$"),
        # The config as Python, hooks by stage, the origin of each parameter.
        Line(
            "chatter",
            r"(?!max_epochs|total_epochs|train_cfg|runner)[a-z_]\w* ?= ?\S|dict\(|[\])}'\"]|[\d., -][\d.,\]) -]*+\s*$",
        ),
        Line("chatter", r"\((?:HIGHEST|VERY_HIGH|HIGH|ABOVE_NORMAL|NORMAL|BELOW_NORMAL|LOW|VERY_LOW|LOWEST) *\)"),
        Line("chatter", r"(?:before|after)_\w+:\s*$|-{10,}\s*$"),
        Line("chatter", r"Name of parameter - Initialization|size mismatch for "),
        Line("chatter", r"[\w.]+ - torch\.Size\(|PretrainedInit: |The value is the same before and after |\w+Init: "),
        Line(
            "chatter",
            r"(?:sys\.platform|Python|CUDA available|CUDA_HOME|numpy_random_seed|GPU [\w,]+|NVCC|GCC|MSVC|PyTorch"
            r"|TorchVision|OpenCV|MM\w+|cudnn_benchmark|mp_cfg|dist_cfg|seed|deterministic|diff_rank_seed"
            r"|Distributed \w+|Runtime environment|PyTorch compiling details): ?"
            r"|- (?:GCC|C\+\+|MSVC|Intel|OpenMP|LAPACK|CPU|CUDA|NVCC|CuDNN|Magma|Build|NNPACK)",
        ),
        Line("chatter", r"(?:<{7}|={7}|>{7})(?:\s|$)"),  # a merge conflict committed with the log
    ),
    clock=Clock(
        covers="window",
        includes=("data",),
        note="The mean of the last iterations: since the last printed line in mmcv, of the last window_size (10 unless "
        "set) in MMEngine; waiting for data is in it, evaluation and saving are not. The printed eta is the mean "
        "iteration time since the start x the iterations left in the run, so it leaves both out too.",
    ),
    layout=Layout(first_step=1, first_epoch=1, events_follow_step=True),
    samples=(
        Sample(
            "mmengine - INFO - Epoch(train)   [3][ 50/201]  lr: 1.0000e-02  eta: 0:14:43  time: 0.2435  data_time: 0.1 "
            " memory: 2928  loss: 3.3404",
            "step",
            {"epoch": 3, "batch": 50, "batches": 201, "dur_s": 0.2435, "loss": 3.3404},
        ),
        Sample(
            "mmdet - INFO - Epoch [1][50/7330]\tlr: 1.978e-03, eta: 1 day, 8:25:31, time: 0.545, data_time: 0.050, "
            "memory: 3900, loss_rpn_cls: 0.6391, loss_cls: 1.2, loss: 2.4100",
            "step",
            {"epoch": 1, "batch": 50, "batches": 7330, "dur_s": 0.545, "loss": 2.41},
        ),
        Sample(
            "mmengine - INFO - Iter(train) [  100/20000]  base_lr: 9.9e-03 lr: 9.9e-03  eta: 1:10:03  time: 0.2111  "
            "data_time: 0.0050  memory: 5100  loss: nan  decode.loss_ce: nan",
            "step",
            {"step": 100, "total": 20000, "dur_s": 0.2111},
        ),
        Sample(
            "mmseg - INFO - Iter [50/80000]\tlr: 9.995e-03, eta: 14:10:03, time: 0.638, data_time: 0.010, memory: 8900",
            "step",
            {"step": 50, "total": 80000, "dur_s": 0.638, "loss": None},
        ),
        Sample(
            "mmengine - INFO - Epoch(val)  [1][ 50/625]    eta: 0:00:34  time: 0.06  data_time: 0.02  memory: 500",
            "chatter",
        ),
        Sample(
            "mmengine - INFO - Epoch(val) [3][6/6]    accuracy/top1: 64.8780  data_time: 0.0110  time: 0.0547",
            "evaluation",
            {"took_batch": 6, "took_batches": 6, "took_mean_s": 0.0547},
        ),
        Sample("mmdet - INFO - Epoch(val) [12][5000]\tbbox_mAP: 0.3610, bbox_mAP_50: 0.5820", "evaluation"),
        Sample("mmengine - INFO - Saving checkpoint at 3 epochs", "checkpoint"),
        Sample("mmseg - INFO - Saving checkpoint at 16000 iterations", "checkpoint"),
        Sample(
            "mmengine - INFO - The best checkpoint with 64.8780 accuracy/top1 at 3 epoch is saved to best_epoch_3.pth.",
            "checkpoint",
            {"path": "best_epoch_3.pth"},
        ),
        Sample(
            "mmdet - INFO - Now best checkpoint is saved as best_bbox_mAP_epoch_3.pth.",
            "checkpoint",
            {"path": "best_bbox_mAP_epoch_3.pth"},
        ),
        Sample("System environment:", "start"),
        Sample("mmdet - INFO - Start running, host: me@box, work_dir: /tmp/run", "start"),
        Sample("mmengine - INFO - resumed epoch: 5, iter: 505", "resume"),
        Sample("mmdet - INFO - workflow: [('train', 1), ('val', 1)], max: 12 epochs", "fact", {"epochs": 12}),
        Sample("mmseg - INFO - workflow: [('train', 1)], max: 80000 iters", "fact", {"total": 80000}),
        Sample("train_cfg = dict(by_epoch=True, max_epochs=36, val_interval=1)", "fact", {"epochs": 36}),
        Sample("max_epochs = 300", "fact", {"epochs": 300}),
        Sample("total_epochs = 12", "fact", {"epochs": 12}),
        Sample("mmengine - INFO - Exp name: toy_finetune_20230101_101010", "chatter"),
        Sample("mmengine - INFO -", "chatter"),
        Sample("dict(type='PackInputs')", "chatter"),
        Sample("(VERY_HIGH   ) RuntimeInfoHook", "chatter"),
        Sample("before_train:", "chatter"),
        Sample("backbone.layer1.0.bn1.bias - torch.Size([64]):", "chatter"),
        Sample("size mismatch for head.fc.bias: copying a param with shape torch.Size([1000])", "chatter"),
        Sample("sys.platform: linux", "chatter"),
        Sample("<<<<<<< HEAD", "chatter"),
        Sample("Epoch(train)   [3][ 50/201]  lr: 1.0000e-02  eta: 0:14:43  time: 0.2", None),  # cut mid-write
        Sample("Epoch [3][50/201] loss: 1.2", None),
        Sample("Epoch 3: 25%|██▌       | 50/201 [00:10<00:30,  4.9it/s]", None),
    ),
)
