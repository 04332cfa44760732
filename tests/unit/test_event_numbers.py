"""The numbers of events are what was put in, packed already or not; what no event has takes no memory."""

from __future__ import annotations

import sys

from hypothesis import given
from hypothesis import strategies as st

from stepscope.reading import event_numbers
from stepscope.reading.event_numbers import DURATION, LINE, SEGMENT, STEP, EventNumbers
from stepscope.run.model import NO_TIME

_times = st.one_of(st.just(NO_TIME), st.integers(0, 1 << 60))
_small = st.integers(0, 1 << 40)
_events = st.tuples(st.integers(-1, 1 << 40), _small, _times, _times, st.integers(0, 9), _times, st.integers(0, 1))
_deeds = st.lists(
    st.one_of(
        st.tuples(st.just("append"), _events),
        st.tuples(st.just("put"), st.integers(0, 50), st.integers(0, 1 << 60)),
        st.tuples(st.just("limit"), st.integers(0, 9)),
        st.tuples(st.just("look")),
    ),
    max_size=40,
)


@given(_deeds)
def test_numbers_come_back_as_they_were_put_in(deeds):
    together, event_numbers._TOGETHER = event_numbers._TOGETHER, 3
    try:
        store, known = EventNumbers(), []
        for deed in deeds:
            match deed:
                case ("append", numbers):
                    store.append(numbers)
                    known.append(list(numbers))
                case ("put", event, value) if event < len(known):
                    store.put(event, DURATION, value)
                    known[event][DURATION] = value
                case ("limit", most):
                    store.limit(SEGMENT, most)
                    for own in known:
                        own[SEGMENT] = min(own[SEGMENT], most)
                case ("look",):
                    before = [column.tolist() for column in store.columns()]
                    assert before == [list(column) for column in zip(*known, strict=True)] or not known
            assert len(store) == len(known)
            if known:
                last = len(known) - 1
                assert [store.get(0, STEP), store.get(last, LINE)] == [known[0][STEP], known[last][LINE]]
        assert not known or [column.tolist() for column in store.columns()] == [
            list(column) for column in zip(*known, strict=True)
        ]
    finally:
        event_numbers._TOGETHER = together


def test_what_no_event_has_takes_no_memory():
    store = EventNumbers()
    for number in range(40_000):
        store.append((number, 2 * number, NO_TIME, NO_TIME, 0, NO_TIME, 0))
    bytes_held = sum(column._data.nbytes for column in store._columns) + sys.getsizeof(store._tail)
    assert bytes_held < 25 * 40_000
    assert store.columns()[STEP][-1] == 39_999
