"""How far off forecasts were on complete runs. Made by tools/learn_forecast.py; do not edit."""

# python tools/learn_forecast.py FOLDER…
# 94 runs of 45 programs and 17 trainers, 799 forecasts:
# modded_nanogpt 30, nanogpt 16, gnmt 9, maskrcnn_benchmark 7, mxnet 6, hf_trainer 4, detectron2 3, ms_swift 3
# verl 3, mlperf 3, generic 2, megatron 2, llama_factory 2, yolo 1, ssd_pytorch 1, opennmt 1
# nvidia_ssd 1

# The least scale by stretch (BUCKETS of intervals.py), then how much each of the PARTS counts.
WEIGHTS = (
    0.059,
    0.0936,
    0.023,
    0.0424,
    0.0081,
    0.0082,
    0.0052,
    0.6538,
    0.8652,
    0.6481,
    0.6194,
    0.4416,
    4.0,
    0.7302,
    1.7202,
    0.5149,
)
# Quantiles of errors in scales, at the LEVELS of intervals.py.
QUANTILES = {
    "own": (-1.17, -0.898, -0.537, -0.284, -0.005, 0.039, 0.676, 0.979, 1.131, 3.061, 6.31),
    "profile": (-10.406, -6.954, -0.944, -0.204, -0.082, -0.01, 0.054, 0.182, 0.367, 14.599, 42.771),
}
