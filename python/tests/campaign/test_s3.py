"""A campaign whose store is a bucket: a local server from a package registry speaks S3."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from quiclab.campaign import Options, campaign

from .conftest import cluster, contents, experiment, machine

moto = pytest.importorskip("moto.server")
pytest.importorskip("s3fs")


def test_a_bucket_holds_the_same_records_as_a_folder(
    fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = moto.ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    import s3fs

    s3fs.S3FileSystem().mkdir("quiclab-tests")
    file = experiment(tmp_path, runs=9)
    try:
        with cluster(machine("a", **keys), machine("b", **keys)) as client:
            for place, out in [("s3://quiclab-tests/one", "s3"), (str(tmp_path / "store"), "folder")]:
                outcome = campaign(file, client, store=place, out=tmp_path / out, options=Options(batch=1))
                assert outcome.is_whole, outcome.failures
            again = campaign(file, client, store="s3://quiclab-tests/one", out=tmp_path / "s3")
            assert again.tasks == 0
    finally:
        server.stop()
    assert contents(tmp_path / "s3") == contents(tmp_path / "folder")
    shutil.rmtree(tmp_path / "s3")
