"""How far off forecasts were on complete runs. Made by tools/learn_forecast.py; do not edit."""

# python tools/learn_forecast.py FOLDER…
# 229 runs of 47 programs and 26 trainers, 2310 forecasts:
# torchvision 36, mxnet 30, nanogpt 24, mlperf 22, generic 14, modded_nanogpt 12, gnmt 12, maskrcnn_benchmark 11
# mmengine 10, caffe 9, dllogger 7, hf_trainer 7, imagenet 6, mmengine_json 5, torchtitan 4, megatron 3
# llama_factory 3, gluon 3, nvidia_ssd 3, verl 2, mlperf_events 1, basicsr 1, lerobot 1, sb3_progress 1
# swin 1, detectron2 1

# The least scale at each of the SHARES of intervals.py, the same after a previous run, and how
# much each of the PARTS counts.
WEIGHTS = (
    0.2234,
    0.1482,
    0.0861,
    0.0571,
    0.0332,
    0.022,
    0.0173,
    0.0157,
    0.0146,
    0.0133,
    0.0124,
    0.0112,
    0.0105,
    0.01,
    0.0846,
    0.6763,
    0.6149,
    0.8569,
    0.9167,
    0.6483,
    2.0,
    0.6062,
    0.6709,
    0.8278,
)
# Quantiles of errors in scales, at the LEVELS of intervals.py, times a factor that programs left out of
# the learning asked for: 0.96.
QUANTILES = {
    "own": (-2.978, -1.342, -0.8, -0.411, -0.173, 0.029, 0.347, 0.822, 1.598, 2.683, 5.956),
    "blind": (-0.996, -0.791, -0.629, -0.416, -0.227, 0.154, 0.453, 0.831, 1.257, 1.581, 1.993),
    "profile": (-1.551, -1.211, -0.912, -0.309, -0.139, 0.071, 0.279, 0.618, 0.96, 1.322, 3.102),
}
