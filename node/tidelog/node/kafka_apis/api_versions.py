"""ApiVersions: the list of served APIs.

A client calls it first, in the newest version that it knows. The answer to a version that is not
served is the list in version 0 with UNSUPPORTED_VERSION: the client calls again in one that is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tidelog.kafka.apis import API_VERSIONS
from tidelog.kafka.messages.api_versions_request import ApiVersionsRequest
from tidelog.kafka.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from tidelog.node.kafka_apis.error_codes import UNSUPPORTED_VERSION
from tidelog.node.kafka_apis.groups_rows import CONSUMER_GROUP_HEARTBEAT
from tidelog.node.kafka_apis.served import ApiCall, ServedApi
from tidelog.v1 import common_pb2

NAMED_FROM = 3
"""First version in which a client names its software."""
GROUP_VERSION = "group.version"
"""Feature whose version 1 says that there is the consumer protocol of groups (KIP-848)."""
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def unsupported_version(rows: Iterable[ServedApi]) -> ApiVersionsResponse:
    """Answer a request of a version that is not served."""
    return ApiVersionsResponse(error_code=UNSUPPORTED_VERSION, api_keys=_listed(rows))


def with_api_versions(others: Sequence[ServedApi]) -> tuple[ServedApi, ...]:
    """Add the API that lists them, and itself."""
    handler = _ApiVersions()
    rows = tuple(sorted((*others, ServedApi(API_VERSIONS, 4, handler)), key=lambda row: row.key))
    handler.listed = _listed(rows)
    return rows


class _ApiVersions:
    """Handler of ApiVersions."""

    def __init__(self) -> None:
        self.listed: list[ApiVersion] = []

    async def __call__(self, request: ApiVersionsRequest, call: ApiCall) -> ApiVersionsResponse:
        names = request.client_software_name, request.client_software_version
        if call.version >= NAMED_FROM and not all(map(_SOFTWARE.fullmatch, names)):
            return ApiVersionsResponse(error_code=common_pb2.INVALID_REQUEST)
        response = ApiVersionsResponse(api_keys=self.listed)
        if any(one.api_key == CONSUMER_GROUP_HEARTBEAT for one in self.listed):
            response.supported_features = [SupportedFeatureKey(GROUP_VERSION, 1, 1)]
            response.finalized_features = [FinalizedFeatureKey(GROUP_VERSION, 1, 1)]
            response.finalized_features_epoch = 0  # the same for as long as this node runs
        return response


def _listed(rows: Iterable[ServedApi]) -> list[ApiVersion]:
    return [ApiVersion(*row.advertised) for row in rows]
