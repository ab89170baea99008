"""Workers, archives and neighbours that mean harm."""

from __future__ import annotations

import argparse
import gzip
import io
import json
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from quiclab.campaign import answer, archive, campaign, clusters
from quiclab.campaign import client as campaign_client
from quiclab.campaign import machine as machine_facts
from quiclab.campaign.store import DamagedError

from . import lying
from .conftest import cluster, experiment, machine

HASH = "ab" * 32
RUNS = {"0123456789abcdef": "fake-0"}
MACHINE = {"name": "n", "cpu": "c", "quiclab": "0.1.0", "quiclab_sha256": HASH, "qemu": None}


def said(**changed: object) -> dict[str, Any]:
    """Return what a worker says of the run, with another value of a field, here or in its row."""
    row: dict[str, Any] = {
        "id": "0123456789abcdef",
        "name": "fake-0",
        "failure": None,
        "cost": {},
        "sha256": HASH,
        "files": {},
    }
    row.update({name: value for name, value in changed.items() if name in row})
    found = {"machine": MACHINE, "seconds": 1.5, "perform_seconds": 1, "rows": [row]}
    found.update({name: value for name, value in changed.items() if name not in row})
    return found


def test_an_answer_is_believed_that_has_the_types_and_the_runs_that_were_asked_for() -> None:
    for good in (said(), said(failure="no", sha256=None, cost=None), said(files={"run.toml": HASH})):
        assert answer.read(json.dumps(good).encode(), RUNS) == good


@pytest.mark.parametrize(
    ("lie", "place"),
    [
        (said(id="f" * 16), "rows[0].id: found"),
        (said(id=["0123456789abcdef"]), "rows[0].id: found"),
        (said(name="../../elsewhere"), "rows[0].name: found '../../elsewhere', expected 'fake-0'"),
        (said(failure=7), "rows[0].failure: found 7"),
        (said(sha256="AB" * 32), "rows[0].sha256: found"),
        (said(cost=[]), "rows[0].cost: found"),
        (said(files={"../x": HASH}), "rows[0].files: found '../x', expected one of run.toml"),
        (said(files={"run.toml": "x"}), "rows[0].files.run.toml: found 'x'"),
        (said(seconds=-1), "seconds: found -1"),
        (said(seconds=float("nan")), "seconds: found nan"),
        (said(seconds=10**400), "seconds: found 1000"),
        (said(perform_seconds=True), "perform_seconds: found True"),
        (said(machine={**MACHINE, "name": "x" * 1001}), "machine.name: found"),
        (said(machine={}), "machine: found {}"),
        (said(rows=[]), "rows: found []"),
        (said(rows={}), "rows: found {}"),
        (said(more=1), "the answer: found"),
        ([], "the answer: found []"),
    ],
)
def test_an_answer_with_anything_else_is_refused_with_its_place(lie: object, place: str) -> None:
    with pytest.raises(answer.AnswerError) as error:
        answer.read(json.dumps(lie).encode(), RUNS)
    assert str(error.value).startswith(place), error.value


def test_an_answer_that_is_no_json_or_too_long_is_refused() -> None:
    wrong: object
    for wrong in (b"\xff", b"{", b"[" * 100_000, said(), None, "text", b" " * (answer.MOST_BYTES * 4)):
        with pytest.raises(answer.AnswerError):
            answer.read(wrong, RUNS)


@pytest.mark.parametrize(
    ("lie", "place"),
    [
        ("another run", "rows[0].id: found '0000000000000000', expected a run of the task"),
        ("text", "expected bytes with JSON"),
        ("long", "bytes, expected at most"),
    ],
)
def test_a_worker_that_lies_is_named_and_another_one_performs_the_run(
    fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], lie: str, place: str
) -> None:
    monkeypatch.setattr(campaign_client, "on_worker", lying.on_worker)
    file = experiment(tmp_path, runs=6)
    with cluster(machine("honest"), machine("liar", LIE=lie)) as client:
        addresses = {name: address for address, name in client.run(machine_facts.name).items()}
        outcome = campaign(file, client, store=str(tmp_path / "store"), out=tmp_path / "out")
    assert outcome.is_whole, outcome.failures
    told = capfd.readouterr().err
    assert f"the answer of the worker {addresses['liar']}: " in told and place in told, told
    assert f"the answer of the worker {addresses['honest']}" not in told


def test_a_note_of_the_store_that_leads_elsewhere_is_named(tmp_path: Path) -> None:
    good: dict[str, Any] = {
        "machine": MACHINE,
        "batch": {"object": f"batches/{'0' * 32}.tar.gz", "sha256": HASH},
        "rows": [{"id": "0123456789abcdef", "files": {"run.toml": HASH}}],
    }
    assert answer.note("made/x.json", json.dumps(good).encode()) == good
    wrong: object
    for wrong in (
        {**good, "batch": {"object": "../../secret", "sha256": HASH}},
        {**good, "rows": [{"id": "../x", "files": {}}]},
        {**good, "rows": 7},
        [],
    ):
        with pytest.raises(DamagedError, match="made/x.json: "):
            answer.note("made/x.json", json.dumps(wrong).encode())


def packed(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """Return an archive with anything in it."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return made.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    """Return a member of an archive."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_a_record_with_links_or_devices_is_refused(tmp_path: Path, kind: bytes) -> None:
    for target in ("run.toml", "../../../etc/passwd", "/etc/passwd"):
        evil = packed((member("r/run.toml"), b"x"), (member("r/wire.pcapng", kind, target), b""))
        with pytest.raises(archive.ArchiveError, match="r/wire.pcapng"):
            archive.place_whole(evil, tmp_path / "out", "r")
    assert list((tmp_path / "out").iterdir()) == []


def test_sources_may_have_links_that_stay_inside(tmp_path: Path) -> None:
    archive.unpack(packed((member("s/a"), b"x"), (member("s/b", tarfile.SYMTYPE, "a"), b"")), tmp_path)
    assert (tmp_path / "s/b").read_bytes() == b"x"
    for target in ("../../x", "/etc/passwd"):
        with pytest.raises(archive.ArchiveError):
            archive.unpack(packed((member("s/c", tarfile.SYMTYPE, target), b"")), tmp_path)


def test_an_archive_that_is_small_and_unpacks_to_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "HARMLESS_BYTES", 1 << 20)
    big = 4 << 20
    file = packed((member("r/log"), bytes(big)))
    # A header of which a reader takes as much into memory as it says.
    header = member("r/x")
    header.pax_headers = {"comment": "x" * big}
    for evil in (file, packed((header, b""))):
        assert len(evil) < archive.HARMLESS_BYTES / archive.MOST_EXPANSION
        with pytest.raises(archive.ArchiveError):
            archive.place_whole(evil, tmp_path / "out", "r")
    assert list((tmp_path / "out").iterdir()) == []
    monkeypatch.undo()
    archive.place_whole(file, tmp_path / "out", "r")
    assert (tmp_path / "out/r/log").stat().st_size == big


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    evil = member("r/x")
    evil.pax_headers = {"path": "r/a\0b"}
    with pytest.raises(archive.ArchiveError, match="null byte"):
        archive.place_whole(packed((evil, b"x")), tmp_path / "out", "r")
    assert list((tmp_path / "out").iterdir()) == []


def test_nonsense_is_no_archive(tmp_path: Path) -> None:
    for evil in (b"", b"nonsense", gzip.compress(b"nonsense" * 1000), gzip.compress(bytes(1 << 20))[:-9]):
        with pytest.raises((archive.ArchiveError, OSError)):
            archive.place_whole(evil, tmp_path / "out", "r")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_thing_from_a_store_says_so_in_the_cache_of_the_worker(tmp_path: Path) -> None:
    (tmp_path / "own/stack/a").mkdir(parents=True)
    (tmp_path / "own/stack/a/sums").write_text("x")
    archive.pack_thing(tmp_path / "own", "stack/a", tmp_path / "a.tar.gz")
    origin = {"archive": "s3://bucket/things/a.tar.gz", "sha256": HASH}
    archive.unpack_thing(tmp_path / "a.tar.gz", tmp_path / "other", "stack/a", origin)
    note = json.loads((tmp_path / "other/stack/a/origin.json").read_text())
    assert {name: note[name] for name in origin} == origin and note["taken_unix_seconds"] > 0
    # A worker's worker has it from the same place.
    archive.pack_thing(tmp_path / "other", "stack/a", tmp_path / "b.tar.gz")
    archive.unpack_thing(tmp_path / "b.tar.gz", tmp_path / "third", "stack/a", {**origin, "archive": "elsewhere"})
    assert json.loads((tmp_path / "third/stack/a/origin.json").read_text()) == note


def local(workers: int) -> argparse.Namespace:
    """Return the words of ``quiclab campaign --local``."""
    return argparse.Namespace(scheduler=None, local=workers, slurm=None, kubernetes=None)


def test_nobody_without_its_keys_talks_to_a_cluster_that_quiclab_starts(fake: Path) -> None:
    with clusters.client(local(1)) as client:
        address = str(client.scheduler_info()["address"])
        assert address.startswith("tls://")
        assert client.submit(sum, [1, 2]).result(timeout=60) == 3
        assert all(worker.startswith("tls://") for worker in client.nthreads())
        for other in (address, address.replace("tls://", "tcp://")):
            with pytest.raises((OSError, TypeError, ValueError)):
                Client(other, timeout=2)


def test_without_the_package_that_makes_keys_no_cluster_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(clusters.ClusterError, match=r"found no cryptography.*pip install 'quiclab\[campaign\]'"):
        with clusters.client(local(1)):
            pass
