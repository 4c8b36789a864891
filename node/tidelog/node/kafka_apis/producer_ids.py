"""InitProducerId: ids of idempotent producers. Transactions are not served, and said not to be."""

from __future__ import annotations

from tidelog.broker.controller_link.producer_ids import ProducerIds
from tidelog.kafka.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.kafka.messages.init_producer_id_response import InitProducerIdResponse
from tidelog.node.kafka_apis.error_codes import (
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    Place,
    kafka_code,
)
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.v1 import common_pb2, data_pb2

_NO_EPOCH = -1


class ProducerIdsHandler:
    """Handler of InitProducerId. An epoch that a producer has is not raised: it gets a new id."""

    def __init__(self, producer_ids: ProducerIds) -> None:
        self._producer_ids = producer_ids

    async def __call__(
        self, request: InitProducerIdRequest, call: ApiCall
    ) -> InitProducerIdResponse:
        """See `ApiHandler`."""
        del call
        if request.transactional_id is not None:
            # All clients take this for final; most other such errors they try again for minutes.
            return _failed(TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        answer = await self._producer_ids.init_producer_id(data_pb2.InitProducerIdRequest())
        if answer.error.code != common_pb2.NONE:
            return _failed(kafka_code(answer.error.code, Place.COORDINATOR))
        return InitProducerIdResponse(
            producer_id=answer.producer_id, producer_epoch=answer.producer_epoch
        )


def _failed(code: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_epoch=_NO_EPOCH)
