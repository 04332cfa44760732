"""Is that normal for this GPU? The run's speed against the GPU's peak, and against what such a model takes."""

from __future__ import annotations

from typing import NamedTuple

from stepscope.analysis.report import Report
from stepscope.core.errors import UsageError
from stepscope.plan.derive import Derived, derive_shape, first_loss
from stepscope.plan.gpus import GpuSpec, known_gpu
from stepscope.plan.model_shape import ModelShape, shape_from_flags
from stepscope.plan.speed import step
from stepscope.plan.training import training_of


class GpuVerdict(NamedTuple):
    """The GPU, the utilisation of its own peak, and the seconds a step of such a model should take, as a range."""

    gpu: GpuSpec
    utilisation: float
    expected: tuple[float, float] | None


def judge(report: Report) -> GpuVerdict | None:
    """The verdict; None when the GPU is unknown or nothing says how much work a step is."""
    gpu = known_gpu(report.hardware.gpu) if report.hardware and report.hardware.gpu else None
    if gpu is None or report.ledger.step is None or not report.ledger.step.typical_s:
        return None
    settings, fmt = report.run.settings, report.run.format
    devices = settings.count("world_size") or 1
    shape = _shape(report)
    if report.mfu is not None and fmt.habits.mfu_peak_tflops:
        utilisation = report.mfu * fmt.habits.mfu_peak_tflops / gpu.tflops
    elif shape is not None and report.tokens_per_s:
        utilisation = shape.flops_per_token * report.tokens_per_s / (devices * gpu.tflops * 1e12)
    else:
        return None
    return GpuVerdict(gpu=gpu, utilisation=utilisation, expected=_expected(report, gpu, shape, devices))


def fitting_sizes(report: Report) -> Derived | None:
    """For a model whose size is not stated: the sizes at which this step time is usual for the GPU."""
    gpu = known_gpu(report.hardware.gpu) if report.hardware and report.hardware.gpu else None
    settings = report.run.settings
    context, step = settings.count("block_size"), report.ledger.step
    if gpu is None or step is None or not step.typical_s or context is None or report.gpu_verdict is not None:
        return None
    if any(name not in settings or settings[name].origin == "default" for name in ("batch_size", "block_size")):
        return None
    training = training_of({name: setting.value for name, setting in settings.items()})
    return derive_shape(
        training,
        gpu,
        step_s=step.typical_s,
        context=context,
        first_loss=first_loss(report.run),
        memory_used=report.hardware.memory_used if report.hardware else None,
    )


def _shape(report: Report) -> ModelShape | None:
    """The model: of the stated size, in the stated or the usual proportions; None when nothing states its size."""
    settings = report.run.settings
    layers, hidden = settings.count("n_layer"), settings.count("n_embd")
    parameters, context = settings.number("parameters"), settings.count("block_size")
    if not parameters and not (layers and hidden):
        return None
    try:
        return shape_from_flags(
            parameters=parameters,
            layers=layers,
            hidden=hidden,
            vocabulary=settings.count("vocab_size"),
            context=context,
        )
    except UsageError:
        return None


def _expected(report: Report, gpu: GpuSpec, shape: ModelShape | None, devices: int) -> tuple[float, float] | None:
    """What a step of the model should take; None when its size or its batch is not known."""
    settings = report.run.settings
    names = ("batch_size", "gradient_accumulation_steps", "block_size")
    batch, accumulation, block = (settings.count(name) for name in names)
    if shape is None or not batch or not accumulation or not block:
        return None
    per_device = accumulation // devices if report.run.format.controls.accumulation_is_total else accumulation
    estimate = step(
        shape,
        gpu,
        micro_batch=batch,
        accumulation=max(1, per_device),
        software="eager" if settings.truth("compile") is False else "compiled",
        devices=devices,
        dtype=settings.text("dtype") or "bfloat16",
    )
    return estimate.span()
