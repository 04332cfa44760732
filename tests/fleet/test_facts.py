"""Facts of runs: read where they are written, joined where they are stated, never guessed."""

from __future__ import annotations

import datetime as dt

import pytest

from stepscope.core.errors import InputError, UsageError
from stepscope.fleet.facts import read_facts
from stepscope.fleet.header_facts import header_facts, hosts_of

SACCT = """JobID|JobIDRaw|User|Account|AllocTRES|NodeList|Start|Timelimit|State|
41|41|alice|vision|billing=8,gres/gpu=8,gres/gpu:a100=8,node=2|gpu[01-02]|2026-03-01T00:00:00|1-02:00:00|COMPLETED|
41.batch|41.batch|||cpu=4|gpu01|2026-03-01T00:00:00||COMPLETED|
42|42|bob|nlp|cpu=4|None assigned|Unknown|UNLIMITED|PENDING|
"""


def test_slurms_environment_in_a_log_says_who_where_and_on_what():
    head = (
        b"SLURM_JOB_ID=4711\nSLURM_JOB_USER=alice\nexport SLURM_JOB_ACCOUNT='nlp'\nSLURM_JOB_NODELIST=gpu[08-10]\n"
        b"SLURM_GPUS_ON_NODE=8\nSLURM_NNODES=3\nSLURM_JOB_END_TIME=1772323200\n"
        b"git commit: 0123456789abcdef0123456789abcdef01234567\n"
    )
    assert header_facts(head, "/logs/x.out") == {
        "job_id": "4711",
        "user": "alice",
        "project": "nlp",
        "hosts": ["gpu08", "gpu09", "gpu10"],
        "devices": 24.0,
        "wall_limit_at": dt.datetime(2026, 3, 1, tzinfo=dt.UTC),
        "commit": "0123456789ab",
    }


def test_a_number_of_tasks_is_no_number_of_gpus():
    assert header_facts(b"SLURM_NTASKS=16\nSLURM_GPUS_ON_NODE=4\n", "/logs/x.out") == {}


def test_a_job_is_known_by_slurms_own_file_name_only():
    assert header_facts(b"", "/logs/slurm-123.out") == {"job_id": "123"}
    assert header_facts(b"", "/logs/run-123.out") == {}


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("a1", ["a1"]),
        ("gpu[01-03,07],login1", ["gpu01", "gpu02", "gpu03", "gpu07", "login1"]),
        ("r[1-2]n", ["r1n", "r2n"]),
        ("x[1-99999]", []),
        ("", []),
    ],
)
def test_a_node_list_is_its_hosts(text, hosts):
    assert hosts_of(text) == hosts


def test_slurms_accounts_are_joined_by_the_jobs_number(tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text(SACCT)
    facts = read_facts(sacct=[str(path)])
    assert facts.of("/logs/slurm-41.out", "41") == {
        "devices": 8.0,
        "hosts": ["gpu01", "gpu02"],
        "gpu": "a100",
        "user": "alice",
        "project": "vision",
        "wall_limit_at": dt.datetime(2026, 3, 2, 2, tzinfo=dt.UTC),
    }
    assert facts.of("/logs/slurm-42.out", "42") == {"user": "bob", "project": "nlp"}
    assert facts.of("/logs/other.out", None) == {}


def test_a_table_says_more_than_a_pattern_and_that_more_than_the_accounts(tmp_path):
    sacct, table = tmp_path / "sacct.txt", tmp_path / "facts.csv"
    sacct.write_text(SACCT)
    table.write_text("path,devices,price,commit\n/logs/*,4,2.5,\n/logs/carol/gpt/a.out,16,,ABCDEF0\n")
    facts = read_facts([str(sacct)], [str(table)], ["{user}/{project}/*.out"])
    found = facts.of("/logs/carol/gpt/a.out", "41")
    assert (found["user"], found["project"], found["devices"], found["price"]) == ("carol", "gpt", 16.0, 2.5)
    assert (found["commit"], found["gpu"]) == ("abcdef0", "a100")


def test_a_pattern_takes_whole_names_from_the_end_of_the_path():
    deep = read_facts(patterns=["/home/{user}/**/{job_id}.log"])
    assert deep.of("/home/dave/a/b/77.log", None) == {"user": "dave", "job_id": "77"}
    near = read_facts(patterns=["/data/{user}/*"])
    assert near.of("/data/eve/x.log", None) == {"user": "eve"}
    assert near.of("/other/data/eve/x.log", None) == {}
    assert near.of("/data/eve/deep/x.log", None) == {}


@pytest.mark.parametrize("text", ["*/train.log", "{color}/*", "{user}/{user}/*"])
def test_a_pattern_without_a_known_fact_is_refused(text):
    with pytest.raises(UsageError, match="pattern"):
        read_facts(patterns=[text])


def test_a_file_that_is_no_table_of_facts_is_refused(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("hello\nworld\n")
    for given in ({"sacct": [str(path)]}, {"tables": [str(path)]}):
        with pytest.raises(InputError):
            read_facts(**given)
