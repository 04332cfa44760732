"""How far off forecasts were on complete runs. Made by tools/learn_forecast.py; do not edit."""

# python tools/learn_forecast.py FOLDER…
# 102 runs of 39 programs and 27 trainers, 729 forecasts:
# nanogpt 27, modded_nanogpt 12, caffe 9, generic 8, mmengine_json 5, llama_factory 4, torchvision 4, torchtitan 4
# detectron2 3, hf_trainer 3, gluon 3, megatron 3, verl 2, mxnet 2, coqui 1, build_nanogpt 1
# gnmt 1, mlperf_events 1, mlperf 1, dllogger 1, nvidia_ssd 1, basicsr 1, paddledetection 1, lerobot 1
# mmengine 1, sb3_progress 1, swin 1

# The least scale at each of the SHARES of intervals.py, then how much each of the PARTS counts.
WEIGHTS = (
    0.1449,
    0.1248,
    0.0875,
    0.0461,
    0.0367,
    0.0211,
    0.0202,
    0.0661,
    0.6976,
    1.0582,
    1.5039,
    0.9511,
    0.9564,
    0.4789,
    0.3892,
    0.6401,
)
# Quantiles of errors in scales, at the LEVELS of intervals.py, times a factor that programs left out of
# the learning asked for: 0.885.
QUANTILES = {
    "own": (-3.445, -1.27, -0.627, -0.389, -0.158, 0.035, 0.316, 0.779, 1.254, 2.54, 6.891),
    "profile": (-4.307, -3.575, -1.681, -0.931, -0.551, -0.127, 0.276, 1.166, 2.439, 4.098, 6.508),
}
