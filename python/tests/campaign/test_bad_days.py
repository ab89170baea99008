"""What goes wrong on machines, each a test: the campaign goes on elsewhere, or says what was found and what was expected."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from quiclab.campaign import Options, Outcome, PlanError, campaign
from quiclab.campaign.schedule import NoWorkerError
from quiclab.campaign.store import DamagedError, Store, StoreError

from .conftest import cluster, contents, experiment, machine, thing


def perform(client: Client, folder: Path, file: Path, out: str = "out", **options: Any) -> Outcome:
    return campaign(file, client, store=str(folder / "store"), out=folder / out, options=Options(**options))


def test_one_worker_and_four_make_the_same_folder(fake: Path, tmp_path: Path) -> None:
    file = experiment(tmp_path, runs=30)
    with cluster(machine("a")) as client:
        assert perform(client, tmp_path, file, "one").is_whole
    shutil.rmtree(tmp_path / "store")
    with cluster(*[machine(name) for name in "abcd"]) as client:
        assert perform(client, tmp_path, file, "four", batch=4).is_whole
    assert contents(tmp_path / "one") == contents(tmp_path / "four")
    assert len(contents(tmp_path / "one")) == 61


def test_a_second_command_performs_only_what_is_missing(fake: Path, tmp_path: Path) -> None:
    with cluster(machine("a")) as client:
        first = perform(client, tmp_path, experiment(tmp_path, runs=5))
        assert (first.tasks, first.missing) == (5, [])
        again = perform(client, tmp_path, experiment(tmp_path, runs=8))
        assert (again.tasks, again.missing) == (3, [])


def test_a_worker_with_another_qemu_is_named_and_not_used(fake: Path, tmp_path: Path) -> None:
    for name, version in [("here", "8.2.1"), ("there", "9.0.0")]:
        program = tmp_path / name / "qemu-system-x86_64"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\necho QEMU emulator version {version}\n")
        program.chmod(0o755)
    paths = {name: f"{tmp_path / name}:{os.environ['PATH']}" for name in ("here", "there")}
    os.environ["PATH"], usual = paths["here"], os.environ["PATH"]
    file = experiment(tmp_path, runs=6, testbed="vm", qemu="8.2.1")
    try:
        with cluster(machine("a", PATH=paths["here"]), machine("b", PATH=paths["there"])) as client:
            outcome = perform(client, tmp_path, file)
        with cluster(machine("b", PATH=paths["there"])) as client, pytest.raises(NoWorkerError) as error:
            shutil.rmtree(tmp_path / "store")
            perform(client, tmp_path, file, "none")
    finally:
        os.environ["PATH"] = usual
    assert outcome.is_whole
    [reason] = outcome.refused.values()
    for text in (reason, str(error.value)):
        assert "found QEMU emulator version 9.0.0 on b, expected QEMU emulator version 8.2.1" in text


def test_a_worker_without_qemu_is_not_used(fake: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for tool in ("tar", "gzip"):
        (empty / tool).symlink_to(shutil.which(tool) or tool)
    file = experiment(tmp_path, runs=3, testbed="vm", qemu="8.2.1")
    with (
        cluster(machine("a", PATH=str(empty))) as client,
        pytest.raises(NoWorkerError, match="QEMU: found none on a, expected 8.2.1"),
    ):
        perform(client, tmp_path, file)


def test_another_version_of_quiclab_is_refused_with_both_named(fake: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "quiclab"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\necho quiclab 9.9.9\n")
    other.chmod(0o755)
    file = experiment(tmp_path, runs=4)
    with cluster(machine("a"), machine("b", QUICLAB=str(other))) as client:
        outcome = perform(client, tmp_path, file)
    assert outcome.is_whole
    assert all(
        "found version 9.9.9 on b" in reason and "expected 0.1.0" in reason for reason in outcome.refused.values()
    )


def test_a_worker_without_the_command_gets_that_of_the_campaign(fake: Path, tmp_path: Path) -> None:
    file = experiment(tmp_path, runs=3)
    with cluster(machine("a", QUICLAB="", PATH="/usr/bin:/bin", QUICLAB_CACHE=str(tmp_path / "far"))) as client:
        assert perform(client, tmp_path, file).is_whole
    assert list((tmp_path / "far" / "campaign").glob("*/quiclab"))


def test_a_full_disk_moves_the_run_to_another_worker(fake: Path, tmp_path: Path) -> None:
    with cluster(machine("full", QUICLAB_CAMPAIGN_LEAST_FREE=str(1 << 60)), machine("b")) as client:
        outcome = perform(client, tmp_path, experiment(tmp_path, runs=6))
    assert outcome.is_whole, outcome.failures


def test_a_disk_that_is_full_everywhere_is_named(fake: Path, tmp_path: Path) -> None:
    with cluster(machine("full", QUICLAB_CAMPAIGN_LEAST_FREE=str(1 << 60))) as client:
        outcome = perform(client, tmp_path, experiment(tmp_path, runs=1), retries=1)
    [reason] = outcome.failures.values()
    assert "MiB free, expected at least" in reason and "full" in reason


def test_a_hanging_task_is_ended_and_made_again(fake: Path, tmp_path: Path) -> None:
    file = experiment(tmp_path, runs=4, hang=[2])
    with cluster(machine("a"), machine("b")) as client:
        outcome = perform(client, tmp_path, file, task_timeout_s=3)
    assert outcome.is_whole
    pid = int((tmp_path / "hang-2").read_text())
    assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2]


def test_a_late_task_is_started_twice(fake: Path, tmp_path: Path) -> None:
    file = experiment(tmp_path, runs=8, hang=[7])
    with cluster(machine("a"), machine("b")) as client:
        start = time.monotonic()
        outcome = perform(client, tmp_path, file, task_timeout_s=300)
    assert outcome.is_whole
    assert time.monotonic() - start < 60


def test_a_run_that_always_fails_is_named_and_the_others_are_kept(fake: Path, tmp_path: Path) -> None:
    with cluster(machine("a")) as client:
        outcome = perform(client, tmp_path, experiment(tmp_path, runs=4, fail=[1]))
    assert len(outcome.missing) == 1
    assert list(outcome.failures.values()) == ["the client failed"]
    assert not (tmp_path / "out" / "experiment.json").exists()


def test_a_run_that_fails_on_one_machine_only_is_made_on_another(fake: Path, tmp_path: Path) -> None:
    file = experiment(tmp_path, runs=8, seconds=0.1, fail_on={"a": list(range(8))})
    with cluster(machine("a"), machine("b")) as client:
        outcome = perform(client, tmp_path, file)
    assert outcome.is_whole
    assert outcome.failures == {}
    assert outcome.tasks > 8


def test_a_corrupted_file_in_a_workers_cache_is_fetched_again(fake: Path, tmp_path: Path) -> None:
    thing(tmp_path / "cache", "stack/x-1", b"the stack's bytes")
    far = tmp_path / "far"
    thing(far, "stack/x-1", b"the stack's bytes")
    (far / "stack/x-1/content").write_bytes(b"the stack's bytEs")
    file = experiment(tmp_path, runs=2, things=["stack/x-1"])
    with cluster(machine("a", QUICLAB_CACHE=str(far))) as client:
        assert perform(client, tmp_path, file).is_whole
    assert (far / "stack/x-1/content").read_bytes() == b"the stack's bytes"


def test_a_corrupted_file_in_the_store_is_never_used(fake: Path, tmp_path: Path) -> None:
    thing(tmp_path / "cache", "stack/x-1", b"the stack's bytes")
    file = experiment(tmp_path, runs=1, things=["stack/x-1"])
    with cluster(machine("a")) as client:
        perform(client, tmp_path, file)
    shutil.rmtree(tmp_path / "store" / "records")
    [packed] = (tmp_path / "store" / "things").glob("*.tar.gz")
    packed.write_bytes(packed.read_bytes()[:-1] + b"x")
    with cluster(machine("a", QUICLAB_CACHE=str(tmp_path / "far"))) as client:
        outcome = perform(client, tmp_path, file, "other", retries=0)
    [reason] = outcome.failures.values()
    assert "found the SHA-256" in reason
    assert not (tmp_path / "far" / "stack").exists()


def test_a_store_that_is_gone_for_a_while_is_waited_for(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"), waits_s=(0.1, 0.2, 0.4, 0.8, 1.6))
    store.create()
    (tmp_path / "store").rename(tmp_path / "gone")
    threading.Timer(1, lambda: (tmp_path / "gone").rename(tmp_path / "store")).start()
    store.put("records/x", b"whole")
    assert store.get("records/x") == b"whole"


def test_a_store_that_stays_away_is_an_error_with_its_name(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"), waits_s=(0.01, 0.01))
    store.create()
    shutil.rmtree(tmp_path / "store")
    with pytest.raises(StoreError, match=r"store .*store: writing records/x failed 3 times"):
        store.put("records/x", b"whole")


def test_a_store_that_cannot_be_written_is_an_error_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file")
    with pytest.raises(OSError):
        Store(str(tmp_path / "store"), waits_s=()).create()


def test_an_object_with_another_hash_is_not_taken(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"))
    store.create()
    store.put("x", b"one")
    with pytest.raises(DamagedError):
        store.fetch("x", tmp_path / "to", "0" * 64)
    assert not (tmp_path / "to").exists()


def test_a_testbed_in_real_time_needs_machines_that_belong_together(fake: Path, tmp_path: Path) -> None:
    file = experiment(tmp_path, runs=1, testbed="netns")
    with cluster(machine("a")) as client:
        with pytest.raises(PlanError, match="testbed netns: .* --together"):
            perform(client, tmp_path, file)
        assert perform(client, tmp_path, file, together="rack 1").is_whole


def test_a_clock_that_jumps_ends_nothing(fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Times come from the monotonic clock, which neither a correction nor a sleeping laptop moves.
    monkeypatch.setattr(time, "time", lambda: 0.0)
    from quiclab.campaign.worker import run_bounded

    assert run_bounded(["/bin/sleep", "0.2"], "", 5, tmp_path)[0] == 0


def test_a_budget_stops_and_says_what_is_missing(
    fake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with cluster(machine("a")) as client:
        outcome = perform(client, tmp_path, experiment(tmp_path, runs=30, seconds=0.2), budget_s=1)
        assert 0 < len(outcome.missing) < 30
        assert "the budget is spent" in capsys.readouterr().err
        assert perform(client, tmp_path, experiment(tmp_path, runs=30, seconds=0)).is_whole


def test_a_lying_machine_is_outvoted_and_its_records_are_marked(fake: Path, tmp_path: Path) -> None:
    file = experiment(tmp_path, runs=12, seconds=0.1)
    with cluster(machine("a"), machine("b"), machine("liar", FAKE_LIE="yes")) as client:
        outcome = perform(client, tmp_path, file, verify=1.0)
    assert outcome.verdicts and outcome.verified == 12
    assert {facts["name"] for verdict in outcome.verdicts for facts in verdict.minority} == {"liar"}
    lies = [
        name
        for name in (tmp_path / "out").iterdir()
        if name.is_dir() and '"yes"' in (name / "metrics.json").read_text()
    ]
    assert outcome.marked == sorted(path.name for path in lies)
    assert "metrics.json differ between" in outcome.verdicts[0].told() and "liar (" in outcome.verdicts[0].told()


def test_many_records_are_unpacked_by_processes_and_damage_is_named(
    fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quiclab.campaign.unpack.FEW_OBJECTS", 2)
    file = experiment(tmp_path, runs=11)
    with cluster(machine("a")) as client:
        assert perform(client, tmp_path, file, "many", batch=3).is_whole
        monkeypatch.setattr("quiclab.campaign.unpack.FEW_OBJECTS", 1000)
        assert perform(client, tmp_path, file, "few").is_whole
        assert contents(tmp_path / "many") == contents(tmp_path / "few")
        monkeypatch.setattr("quiclab.campaign.unpack.FEW_OBJECTS", 2)
        packed = next((tmp_path / "store" / "batches").glob("*.tar.gz"))
        packed.write_bytes(packed.read_bytes()[:-1] + b"x")
        with pytest.raises(OSError, match="its SHA-256 is not"):
            perform(client, tmp_path, file, "damaged")
