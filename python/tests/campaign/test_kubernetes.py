"""The manifest against the published schemas of Kubernetes: the pods and the service in it are those that the operator makes."""

from __future__ import annotations

from importlib import resources
from typing import Any

import pytest
import yaml

kubernetes_validate = pytest.importorskip("kubernetes_validate")

CLUSTER = yaml.safe_load((resources.files("quiclab.campaign") / "kubernetes/cluster.yaml").read_text())


def parts() -> list[dict[str, Any]]:
    """Return the manifests that the operator makes of the cluster's."""

    def pod(role: str) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": role}, "spec": CLUSTER["spec"][role]["spec"]}

    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "x"},
        "spec": CLUSTER["spec"]["scheduler"]["service"],
    }
    return [pod("worker"), pod("scheduler"), service]


@pytest.mark.parametrize("manifest", parts(), ids=lambda manifest: f"{manifest['kind']}-{manifest['metadata']['name']}")
def test_every_part_follows_the_schema(manifest: dict[str, Any]) -> None:
    kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)


def test_a_misspelt_key_is_found() -> None:
    [worker, *_] = parts()
    worker = {**worker, "spec": {**worker["spec"], "containrs": []}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(worker, kubernetes_validate.latest_version(), strict=True)


def test_the_cluster_has_what_the_operator_asks_for() -> None:
    assert (CLUSTER["apiVersion"], CLUSTER["kind"]) == ("kubernetes.dask.org/v1", "DaskCluster")
    assert set(CLUSTER["spec"]) == {"worker", "scheduler"}
    assert CLUSTER["spec"]["worker"]["replicas"] > 0
