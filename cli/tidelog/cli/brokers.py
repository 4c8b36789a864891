"""`tidelog brokers list`: the registered brokers and what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from tidelog.cli.bootstrap import bootstrap_option
from tidelog.cli.connection import ask, echo_json, json_option
from tidelog.cli.table import echo_table

if TYPE_CHECKING:
    from tidelog.client.admin import Admin
    from tidelog.client.admin.descriptions import ClusterDescription, TopicDescription
    from tidelog.client.errors import TidelogError

_COLUMNS = ("broker", "address", "state", "rack", "leaders", "replicas", "controller")


@click.group()
def brokers() -> None:
    """List the brokers, live and fenced."""


@brokers.command(name="list")
@json_option
@bootstrap_option
def list_brokers(*, as_json: bool, bootstrap: str) -> None:
    """List every broker: address, state, and the number of partitions that it leads and holds.

    A fenced broker leads nothing: it is dead, stopping, or has not caught up yet.
    """

    async def question(
        admin: Admin,
    ) -> tuple[ClusterDescription, Mapping[str, TopicDescription | TidelogError]]:
        return await admin.describe_cluster(), await admin.describe_topics()

    cluster, topics = ask(bootstrap, question)
    rows = _rows(cluster, topics)
    if as_json:
        echo_json({"cluster_id": cluster.cluster_id, "brokers": rows})
        return
    marks = {True: "active", False: ""}
    echo_table(
        _COLUMNS,
        [(*list(row.values())[:-1], marks[row["is_active_controller"] is True]) for row in rows],
    )


def _rows(
    cluster: ClusterDescription, topics: Mapping[str, TopicDescription | TidelogError]
) -> list[dict[str, object]]:
    from tidelog.client.errors import TidelogError

    leads: dict[int, int] = {}
    holds: dict[int, int] = {}
    for topic in topics.values():
        for p in () if isinstance(topic, TidelogError) else topic.partitions:
            if p.leader is not None:
                leads[p.leader] = leads.get(p.leader, 0) + 1
            for replica in p.replicas:
                holds[replica] = holds.get(replica, 0) + 1
    return [
        {
            "broker_id": one.broker_id,
            "address": one.address,
            "state": "fenced" if one.is_fenced else "live",
            "rack": one.rack,
            "leaders": leads.get(one.broker_id, 0),
            "replicas": holds.get(one.broker_id, 0),
            "is_active_controller": one.broker_id == cluster.controller_id,
        }
        for one in cluster.brokers
    ]
