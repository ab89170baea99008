"""Experiments read, made, changed and written."""

import json
from pathlib import Path

import pytest

import quiclab
from quiclab import Experiment, QuiclabError

from .conftest import EXPERIMENTS

# A path is a list of stages, not an experiment.
FILES = [file for file in sorted(EXPERIMENTS.rglob("*.toml")) if file.parent.name != "paths"]


def toml(path: Path) -> dict[str, object]:
    return Experiment.from_file(path).to_dict()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(EXPERIMENTS)))
def test_a_file_read_and_written_has_the_same_keys(path: Path, tmp_path: Path) -> None:
    Experiment.from_file(path).save(tmp_path / "again.toml")
    # As text, because the order of a matrix's keys is that of the runs.
    assert json.dumps(toml(tmp_path / "again.toml"), indent=1) == json.dumps(toml(path), indent=1)


@pytest.mark.plans
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(EXPERIMENTS)))
def test_a_file_read_and_written_has_the_same_plan(path: Path) -> None:
    try:
        expected = quiclab.plan(path)
    except QuiclabError as refused:
        with pytest.raises(QuiclabError) as again:
            quiclab.plan(Experiment.from_file(path))
        # The name of the file is another.
        assert again.value.status == refused.status, f"{refused}\n{again.value}"
        return
    found = quiclab.plan(Experiment.from_file(path))
    assert len(found) == len(expected)
    # Of thousands of runs, a difference of all would be too long to read.
    differing = [pair for pair in zip(found, expected, strict=True) if pair[0] != pair[1]]
    assert not differing, f"{len(differing)} of {len(expected)} runs; the first: {differing[0]}"


def test_attributes_keywords_and_keys_are_the_same(tmp_path: Path) -> None:
    one = Experiment("mine", stack={"name": "quiche"}, folder=tmp_path)
    one.path.rate = "20 Mbit/s"
    one["matrix"] = {"workload.size": ["1 MiB", "2 MiB"]}
    other = Experiment("mine", stack={"name": "quiche"}, path={"rate": "20 Mbit/s"})
    other.matrix["workload.size"] = ["1 MiB", "2 MiB"]
    assert one.to_dict() == other.to_dict()
    assert one.to_toml().count('"workload.size" = ["1 MiB", "2 MiB"]') == 1


def test_looking_for_a_key_does_not_write_a_table() -> None:
    experiment = Experiment("mine")
    assert not experiment.path.impairments
    assert experiment.to_toml() == 'name = "mine"\n'


def test_an_empty_table_that_was_given_is_written() -> None:
    assert "[profile.quick]" in Experiment("mine", profile={"quick": {}}).to_toml()


def test_text_with_quotes_and_control_characters_survives(tmp_path: Path) -> None:
    text = 'a "quoted" \\ text\n\x00\x1f\x7f é 𝄞'
    Experiment("mine", title=text).save(tmp_path / "one.toml")
    assert Experiment.from_file(tmp_path / "one.toml").title == text


def test_a_wrong_key_is_named_by_the_command(tmp_path: Path) -> None:
    experiment = Experiment("mine", title="Mine", stack={"name": "quiche"}, folder=tmp_path)
    experiment.path.ratte = "20 Mbit/s"
    with pytest.raises(QuiclabError, match="ratte") as error:
        experiment.check()
    assert error.value.status == 125
    assert not list(tmp_path.iterdir())


def test_a_value_that_toml_has_not_is_named() -> None:
    with pytest.raises(TypeError, match="path.rate: found object"):
        Experiment("mine", path={"rate": object()}).to_toml()
