"""Whether a text without a single step is still the output of a training: by the frames of its traceback and its words.

A web server dies of tracebacks too. What counts is code that only trainings run: frames in the libraries of deep
learning or in a script that trains, a GPU that ran out of memory, ranks that wait for each other, a launcher's words.
"""

from __future__ import annotations

from collections.abc import Iterable

from stepscope.core.lazy_pattern import LazyPattern

_LIBRARIES = (
    r"torch|torchvision|torchaudio|tensorflow|keras|jax|jaxlib|flax|optax|paddle|mxnet|mindspore|transformers|accelerate"
    r"|deepspeed|megatron|peft|trl|datasets|pytorch_lightning|lightning|lightning_fabric|mmcv|mmengine|mmdet|mmseg"
    r"|detectron2|fairseq|timm|ultralytics|xformers|flash_attn|apex|colossalai|composer|verl|vllm|bitsandbytes|unsloth"
    r"|sentence_transformers|fastai|catalyst|nemo|speechbrain|espnet2?|stable_baselines3|diffusers|horovod|xgboost"
    r"|lightgbm|catboost|swift|llamafactory|axolotl|torchtitan|torchtune|litgpt"
)
_FRAME = LazyPattern(rf'^\s*(?:\S.{{0,80}}?\s)?File "[^"]*/(?:{_LIBRARIES})/|^\s*at .*\b(?:{_LIBRARIES})\.')
# A script or a command whose name says that it trains.
_TRAINS = LazyPattern(
    r'File "[^"]{0,400}(?:train|finetune|fine_tune|sft|pretrain|dpo|grpo|ppo)\w{0,80}\.py"'
    r"|\b(?:torchrun|accelerate launch|deepspeed)\b.{0,200}\.py\b"
    r"|\bpython\S{0,20} .{0,200}train\w{0,80}\.py\b|-m torch\.distributed"
)
_GPU = LazyPattern(
    r"\b(?:CUDA|HIP|XPU|MPS|TPU|GPU) (?:error: )?out of memory|NCCL|CUDA error|\bcuDNN error|CUBLAS_STATUS"
    r"|ChildFailedError|torch\.\w|tensorflow/|RESOURCE_EXHAUSTED|ProcessGroup|\[launch\.py:\d+"
    r"|[\d.?] ?examples/s\]"  # the bar of Hugging Face's datasets
)
# Weaker words, of which one alone says nothing.
_WORDS = tuple(
    LazyPattern(pattern)
    for pattern in (
        r"(?i)\bepochs?\b",
        r"(?i)\b(?:train|val(?:idation)?)[ _-]?loss\b|\bloss:",
        r"(?i)\blearning[ _-]?rate\b|\blr\b",
        r"(?i)\bbatch[ _-]?size\b",
        r"(?i)\bcheckpoints?\b",
        r"\b(?:CUDA|cuda(?::\d)?|GPU|NCCL|bf16|fp16)\b",
        r"(?i)\btraining\b",
    )
)
_ENOUGH_WORDS = 3


def is_training_text(lines: Iterable[str]) -> bool:
    """Whether these lines, which hold no step, were printed by a training."""
    seen: set[int] = set()
    for line in lines:
        text = line[:1000]
        if _FRAME.search(text) or _TRAINS.search(text) or _GPU.search(text):
            return True
        seen |= {index for index, word in enumerate(_WORDS) if index not in seen and word.search(text)}
        if len(seen) >= _ENOUGH_WORDS:
            return True
    return False
