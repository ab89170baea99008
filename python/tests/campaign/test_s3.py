"""A campaign whose store is a bucket: a local server from a package registry speaks S3."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from quiclab.campaign import Options, campaign

from .conftest import bucket, cluster, contents, experiment, machine


def test_a_bucket_holds_the_same_records_as_a_folder(
    fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = experiment(tmp_path, runs=9)
    with (
        bucket(monkeypatch) as (address, keys),
        cluster(machine("a", **keys), machine("b", **keys)) as client,
    ):
        for place, out in [(f"{address}/one", "s3"), (str(tmp_path / "store"), "folder")]:
            outcome = campaign(file, client, store=place, out=tmp_path / out, options=Options(batch=1))
            assert outcome.is_whole, outcome.failures
        again = campaign(file, client, store=f"{address}/one", out=tmp_path / "s3")
        assert again.tasks == 0
    assert contents(tmp_path / "s3") == contents(tmp_path / "folder")
    shutil.rmtree(tmp_path / "s3")
