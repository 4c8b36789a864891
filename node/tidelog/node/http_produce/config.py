"""The keys of `POST /topics/TOPIC`. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass

from tidelog.core.config_keys import declare
from tidelog.core.config_types import boolean, whole_number

ENABLE_KEY = "http.produce.enable"
HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class HttpProduceConfig:
    """Switch and limits of records taken over HTTP."""

    is_enabled: bool = declare(
        default=False,
        value_type=boolean(),
        doc="Take records by `POST /topics/TOPIC` on `http.port`, from anybody who reaches it.",
        key=ENABLE_KEY,
    )
    max_bytes: int = declare(
        1 << 20,
        whole_number(1, 1 << 26),
        "Maximum size of a body; a larger one is refused before it is read.",
        key="http.produce.max.bytes",
    )
    records_max: int = declare(
        1_000,
        whole_number(1, 100_000),
        "Maximum number of records in a body.",
        key="http.produce.records.max",
    )
    requests_max: int = declare(
        16,
        whole_number(1, 1 << 12),
        "Maximum number of such requests at a time; others are refused. Bodies are in memory.",
        key="http.produce.requests.max",
    )
    timeout_ms: int = declare(
        30_000,
        whole_number(100, HOUR_MS),
        "From a request to its answer: a quarter to read the body, a quarter to find the topic, "
        "half for the acknowledgement of all in-sync replicas.",
        key="http.produce.timeout.ms",
    )
