"""A simulated host's handlers, behind the same door as real ones: listener, caller, call.

Both check a request against the listener it came in by before a handler sees it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

from tidelog.net.call import LOCAL_CALL
from tidelog.net.handlers import serve_of
from tidelog.net.internal_calls import check_method, check_request
from tidelog.simulation.engine.network import Host
from tidelog.v1.methods import Method, Request, Response


def find_handler(
    server: Host, address: str, method: Method[Request, Response]
) -> Callable[[Request | AsyncIterator[Request]], Any]:
    """Return the method of a host that listens, at one of its addresses.

    The method raises `ClusterAuthorizationFailedError`.
    """
    assert server.services is not None  # the caller has looked
    call = LOCAL_CALL._replace(listener=server.listener_at(address))
    serve = serve_of(server.services[method.service], method.name)

    def checked(asked: Request | AsyncIterator[Request]) -> Any:
        if call.listener.is_internal:
            return serve(asked, call)
        check_method(method.service, method.name, call.listener)
        if isinstance(asked, AsyncIterator):
            return serve(each(asked), call)
        check_request(asked, call.listener)
        return serve(asked, call)

    async def each(requests: AsyncIterator[Request]) -> AsyncGenerator[Request, None]:
        async for request in requests:
            check_request(request, call.listener)
            yield request

    return checked
