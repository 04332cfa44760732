"""A plan as the JSON document `stepscope.plan/1`: English keys, plain seconds and bytes, null for unknown."""

from __future__ import annotations

import datetime as dt
from typing import Any

from stepscope import __version__
from stepscope.core.unseen import to_json
from stepscope.i18n import Language
from stepscope.plan.build import Estimate, GpuPlan
from stepscope.plan.training import Training
from stepscope.report.plan_table import PlanReport

SCHEMA = "stepscope.plan/1"


def render(report: PlanReport, language: Language) -> str:
    """The JSON text; `language` is not used, the document is never translated."""
    del language
    return to_json(document(report), indent=2) + "\n"


def document(report: PlanReport) -> dict[str, Any]:
    """The document as plain data."""
    english = Language.load("en")
    shape, derived = report.shape, report.derived
    return {
        "schema": SCHEMA,
        "tool_version": __version__,
        "model": {
            "layers": shape.layers,
            "heads": shape.heads,
            "hidden": shape.hidden,
            "context": shape.context,
            "vocabulary": shape.vocabulary,
            "parameters": shape.parameters,
            "parameters_low": derived.low if derived else shape.parameters,
            "parameters_high": derived.high if derived else shape.parameters,
            "is_derived": derived is not None,
            "flops_per_token": shape.flops_per_token,
            "checkpoint_bytes": shape.checkpoint_bytes,
        },
        "training": {**_settings(report.training), "tokens_per_step": report.training.sequences * shape.context},
        "cards": [_gpu_plan(report, plan) for plan in report.cards],
        "assumptions": [english.say(note) for note in report.notes],
    }


def _settings(training: Training) -> dict[str, Any]:
    return {
        "batch_size": training.batch_size,
        "gradient_accumulation_steps": training.accumulation,
        "max_steps": training.max_steps,
        "eval_interval": training.eval_interval,
        "eval_iters": training.eval_iters,
        "always_save_checkpoint": training.always_saves,
        "compile": training.is_compiled,
        "dtype": training.dtype,
    }


def _gpu_plan(report: PlanReport, plan: GpuPlan) -> dict[str, Any]:
    return {
        "gpu": plan.gpu.name,
        "devices": plan.devices,
        "peak_tflops": plan.gpu.tflops,
        "memory_total": plan.gpu.memory,
        "fits": plan.fits,
        "surely_fits": plan.surely_fits,
        "memory": {**plan.asked.memory._asdict(), "total": plan.held},
        "largest_micro_batch": plan.largest,
        "tokens_per_s": plan.tokens_per_s,
        "mfu": plan.utilisation,
        **_estimate(report, plan, plan.asked),
        "calibration": plan.known.calibration,
        "proposed": None
        if plan.proposed is None
        else {"settings": _settings(plan.proposed.training), **_estimate(report, plan, plan.proposed)},
    }


def _estimate(report: PlanReport, plan: GpuPlan, own: Estimate) -> dict[str, Any]:
    step_low, step_high = own.step.span()
    low, high = own.span
    return {
        "step_s": own.step.seconds,
        "step_low_s": step_low,
        "step_high_s": step_high,
        "evaluation_s": own.evaluation_s,
        "evaluations": own.num_evaluations,
        "checkpoint_s": own.checkpoint_s,
        "total_s": own.total_s,
        "total_low_s": low,
        "total_high_s": high,
        "finish_at": _moment(report.now, own.total_s),
        "finish_low_at": _moment(report.now, low),
        "finish_high_at": _moment(report.now, high),
        "energy_j": own.energy_j,
        "cost": report.cost(plan, own),
    }


def _moment(now: dt.datetime, seconds: float) -> str | None:
    try:
        return (now + dt.timedelta(seconds=seconds)).astimezone().isoformat(timespec="seconds")
    except (OverflowError, ValueError):
        return None
