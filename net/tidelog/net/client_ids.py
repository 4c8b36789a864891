"""Names of clients, as a call's metadata carries them. Pure.

The characters are those that Kafka allows in a client.id. A broker reads the name for its metrics
alone and trusts it in nothing: any client may give any name.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import re
from collections.abc import Iterable

CLIENT_ID_CHARS_MAX = 128
METADATA_KEY = "client-id"
"""Key of the client's name in the metadata of each call and stream."""
UNNAMED = ""
"""Client id of a caller without a valid name."""
_CLIENT_ID = re.compile(rf"[a-zA-Z0-9._-]{{1,{CLIENT_ID_CHARS_MAX}}}")


def is_client_id(name: object) -> bool:
    """Tell if this is a valid client id."""
    return isinstance(name, str) and _CLIENT_ID.fullmatch(name) is not None


def client_id_of(metadata: Iterable[tuple[str, str | bytes]]) -> str:
    """Return the client id in a call's metadata; UNNAMED without one, or for an invalid one."""
    for key, value in metadata:
        if key == METADATA_KEY:
            return value if isinstance(value, str) and is_client_id(value) else UNNAMED
    return UNNAMED
