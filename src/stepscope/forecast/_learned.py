"""How far off forecasts were on complete runs. Made by tools/learn_forecast.py; do not edit."""

# python tools/learn_forecast.py FOLDER…
# 229 runs of 47 programs and 26 trainers, 2308 forecasts:
# torchvision 36, mxnet 30, nanogpt 24, mlperf 22, generic 14, modded_nanogpt 12, gnmt 12, maskrcnn_benchmark 11
# mmengine 10, caffe 9, dllogger 7, hf_trainer 7, imagenet 6, mmengine_json 5, torchtitan 4, megatron 3
# llama_factory 3, gluon 3, nvidia_ssd 3, verl 2, mlperf_events 1, basicsr 1, lerobot 1, sb3_progress 1
# swin 1, detectron2 1

# The least scale at each of the SHARES of intervals.py, the same after a previous run, and how
# much each of the PARTS counts.
WEIGHTS = (
    0.0411,
    0.0351,
    0.0285,
    0.0243,
    0.0197,
    0.0168,
    0.0153,
    0.0186,
    0.0158,
    0.0127,
    0.0108,
    0.0086,
    0.0073,
    0.0066,
    0.0749,
    1.5218,
    0.7944,
    0.8881,
    0.534,
    0.6285,
    1.3266,
    0.8391,
    0.7522,
    1.2678,
    0.3314,
)
# Quantiles of errors in scales, at the LEVELS of intervals.py, times a factor that programs left out of
# the learning asked for: 0.817.
QUANTILES = {
    "own": (-3.895, -1.431, -0.917, -0.341, -0.148, 0.036, 0.295, 0.681, 1.833, 2.862, 7.79),
    "blind": (-0.782, -0.607, -0.435, -0.319, -0.189, 0.154, 0.377, 0.638, 0.869, 1.214, 1.299),
    "profile": (-1.431, -0.664, -0.455, -0.219, -0.105, 0.054, 0.209, 0.404, 0.672, 0.864, 2.862),
}
