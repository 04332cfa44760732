"""What a fleet's report holds: plain data for renderers. Seconds, in runs and in devices; None is unknown, never 0."""

from __future__ import annotations

import datetime as dt
from typing import Literal, NamedTuple

from stepscope.core.price import StatedPrice


class Amount(NamedTuple):
    """Time of runs, the same times their devices, and what that cost.

    run_s
        Seconds of all runs.
    device_s
        Seconds of their devices, of the runs whose devices are known; None where no run's are.
    money
        In the price's own currency; None without a price.
    """

    run_s: float
    device_s: float | None = None
    money: float | None = None

    @property
    def weighted_s(self) -> float:
        """What amounts are ranked by."""
        return self.run_s if self.device_s is None else self.device_s


def added(amounts: list[Amount]) -> Amount:
    """The sum of amounts of one fleet."""
    money = [one.money for one in amounts if one.money is not None]
    devices = [one.device_s for one in amounts if one.device_s is not None]
    return Amount(sum(one.run_s for one in amounts), sum(devices) if devices else None, sum(money) if money else None)


class Estimate(NamedTuple):
    """A share or a ratio and the interval it lies in."""

    value: float
    low: float
    high: float


class Goodput(NamedTuple):
    """Productive time over all time.

    by_time
        Weighted by GPU-hours (by the runs' hours where no devices are known).
    by_runs
        The mean of all runs, each counted once.
    unexplained
        The share that the logs do not explain.
    """

    by_time: Estimate
    by_runs: float
    unexplained: float


class RunShare(NamedTuple):
    """A run and its part of something."""

    uri: str
    amount: Amount
    read_id: int


class Remedy(NamedTuple):
    """A change of a setting that would have saved some of a cause's time: of how many runs, and how much in all."""

    code: str
    setting: str
    num_runs: int
    saves: Amount


class Cause(NamedTuple):
    """What one cause took from the fleet.

    share
        Of all time.
    share_by_runs
        The mean over all runs of its share of each.
    beyond
        The part that bought no precision worth having (evaluations only).
    saves
        What the remedies would have saved, each run counted with its best one; None where nothing states it.
    """

    code: str
    amount: Amount
    low_s: float
    high_s: float
    share: float
    share_by_runs: float
    num_runs: int
    beyond: Amount | None
    remedies: tuple[Remedy, ...]
    saves: Amount | None
    runs: tuple[RunShare, ...]


class Regression(NamedTuple):
    """Runs of one configuration that take longer from one commit, or week, on.

    ratio
        Seconds an iteration after the change over those before.
    since, since_low, since_high
        The first commit with the new level, or the day, and between which it lies.
    per_step_s
        Seconds an iteration before and after.
    phase
        The phase that most of the difference is in.
    extra
        What the runs since then took more than at the old level.
    """

    config: str
    is_by_commit: bool
    since: str
    since_low: str
    since_high: str
    since_at: dt.datetime
    ratio: Estimate
    per_step_s: tuple[float, float]
    phase: str
    phase_share: float
    num_before: int
    num_after: int
    extra: Amount
    runs: tuple[RunShare, ...]


class Host(NamedTuple):
    """A host against the fleet: runs, the median ratio of its iterations to those of the same configuration.

    extra
        What its slow iterations took more, and what was lost to crashes there; a run's hosts share it.
    """

    name: str
    num_runs: int
    ratio: float | None
    num_slow: int
    num_crashed: int
    is_slow_lemon: bool
    is_crashing_lemon: bool
    extra: Amount

    @property
    def is_lemon(self) -> bool:
        """Whether it is slow or crashes in more runs than chance explains, three at least."""
        return self.is_slow_lemon or self.is_crashing_lemon


class Running(NamedTuple):
    """A run that had not ended when it was read, and its chance to end before its job does."""

    uri: str
    read_id: int
    read_at: dt.datetime | None
    remaining_s: float | None
    low_s: float | None
    high_s: float | None
    wall_limit_at: dt.datetime | None
    chance: float | None
    alarms: tuple[str, ...]


class Group(NamedTuple):
    """The runs of one host, user, project and so on; the name is None where it is not known."""

    name: str | None
    num_runs: int
    amount: Amount
    lost: Amount
    goodput: float
    worst: str | None


class Costly(NamedTuple):
    """A run that lost much: how much of it, to what mostly, whose it was, and where it ran."""

    uri: str
    read_id: int
    paths: tuple[str, ...]
    amount: Amount
    lost: Amount
    goodput: float
    state: str
    worst: str | None
    user: str | None
    project: str | None
    hosts: tuple[str, ...]
    started_at: dt.datetime | None


class Unread(NamedTuple):
    """Files that were not read, by reason, with one of them."""

    error: str
    num: int
    text: str
    example: str


class Counts(NamedTuple):
    """How many runs the figures rest on, and of how many a fact is not known.

    copies
        Logs that repeat another one's iterations and times; they are in none of the figures.
    counted
        Of those with times, the runs that are in the GPU-hours.
    """

    found: int
    read: int
    copies: int
    timed: int
    counted: int
    ended_early: int
    restarted: int
    without: dict[str, int]


class Training(NamedTuple):
    """The effective training time ratio: of the runs that died or restarted, the share that no interruption took."""

    num_runs: int
    ratio: float
    lost: Amount


class Fix(NamedTuple):
    """What would have saved most: a change of a setting, a commit that made runs slower, or a bad host."""

    kind: Literal["cause", "regression", "host"]
    name: str
    saves: Amount


class FleetReport(NamedTuple):
    """The answer.

    fixes
        What would have saved most, the greatest first; none where nothing states a sum.
    paused, num_paused
        Time between two starts of a run that are more than an hour apart, and the runs that have any. It is in no
        other figure.
    """

    store: str
    counts: Counts
    first_at: dt.datetime | None
    last_at: dt.datetime | None
    total: Amount
    lost: Amount
    paused: Amount
    num_paused: int
    fixes: tuple[Fix, ...]
    goodput: Goodput | None
    training: Training | None
    price: StatedPrice | None
    causes: tuple[Cause, ...]
    regressions: tuple[Regression, ...]
    hosts: tuple[Host, ...]
    running: tuple[Running, ...]
    by: str
    groups: tuple[Group, ...]
    runs: tuple[Costly, ...]
    unread: tuple[Unread, ...]

    @property
    def first(self) -> Fix | None:
        """What to fix first; None where nothing states a sum."""
        return self.fixes[0] if self.fixes else None

    @property
    def has_devices(self) -> bool:
        """Whether time is counted in GPU-hours."""
        return self.total.device_s is not None
