"""ApiVersionsResponse of Kafka's protocol.

Generated from proto/kafka/api_versions.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, bad_tag, cut_off, long_text, long_varint, not_utf8, skip_tags, tag_count, tag_head, text_length_of, varint_of, write_tags


class ApiVersionsResponse(Message, gc=False):
    """Response of API 18, versions 0-4."""

    API_KEY: ClassVar[int] = 18
    VERSIONS: ClassVar[range] = range(0, 5)
    FLEXIBLE: ClassVar[range] = range(3, 5)

    error_code: int = 0
    api_keys: list[ApiVersion] = []
    throttle_time_ms: int = 0
    supported_features: list[SupportedFeatureKey] = []
    finalized_features_epoch: int = -1
    finalized_features: list[FinalizedFeatureKey] = []
    zk_migration_ready: bool = False


class ApiVersion(msgspec.Struct, gc=False):
    api_key: int = 0
    min_version: int = 0
    max_version: int = 0


class SupportedFeatureKey(msgspec.Struct, gc=False):
    name: str = ""
    min_version: int = 0
    max_version: int = 0


class FinalizedFeatureKey(msgspec.Struct, gc=False):
    name: str = ""
    max_version_level: int = 0
    min_version_level: int = 0


_unpack_t = Struct(">?").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hhB = Struct(">hhB").unpack_from
_unpack_hhh = Struct(">hhh").unpack_from
_unpack_hhhB = Struct(">hhhB").unpack_from
_unpack_hi = Struct(">hi").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_q = Struct(">q").unpack_from
_pack_t = Struct(">?").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_hhh = Struct(">hhh").pack
_pack_hhhx = Struct(">hhhx").pack
_pack_hhx = Struct(">hhx").pack
_pack_hi = Struct(">hi").pack
_pack_i = Struct(">i").pack
_pack_q = Struct(">q").pack


def _read_api_version_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ApiVersion], int]:
    items: list[ApiVersion] = []
    for _ in range(count):
        if end - at < 6:
            raise cut_off("ApiVersion", "ApiKey=2 MinVersion=2 MaxVersion=2", end - at)
        api_key, min_version, max_version = _unpack_hhh(data, at)
        at += 6
        items.append(ApiVersion(api_key, min_version, max_version))
    return items, at


def _read_api_versions_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ApiVersionsResponse], int]:
    items: list[ApiVersionsResponse] = []
    for _ in range(count):
        if end - at < 6:
            raise cut_off("ApiVersionsResponse", "ErrorCode=2 ApiKeys=4", end - at)
        error_code, n = _unpack_hi(data, at)
        at += 6
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("ApiVersionsResponse.ApiKeys", n, end - at, room[0])
        api_keys, at = _read_api_version_0(data, at, end, room, n)
        items.append(ApiVersionsResponse(error_code, api_keys))
    return items, at


def _read_api_versions_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ApiVersionsResponse], int]:
    items: list[ApiVersionsResponse] = []
    for _ in range(count):
        if end - at < 6:
            raise cut_off("ApiVersionsResponse", "ErrorCode=2 ApiKeys=4", end - at)
        error_code, n = _unpack_hi(data, at)
        at += 6
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("ApiVersionsResponse.ApiKeys", n, end - at, room[0])
        api_keys, at = _read_api_version_0(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("ApiVersionsResponse", "ThrottleTimeMs=4", end - at)
        throttle_time_ms = _unpack_i(data, at)[0]
        at += 4
        items.append(ApiVersionsResponse(error_code, api_keys, throttle_time_ms))
    return items, at


def _read_api_version_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ApiVersion], int]:
    items: list[ApiVersion] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("ApiVersion", "ApiKey=2 MinVersion=2 MaxVersion=2 tags=1", end - at)
        api_key, min_version, max_version, tags = _unpack_hhhB(data, at)
        at += 7
        if tags:
            at = skip_tags(data, at, end, tags, "ApiVersion")
        items.append(ApiVersion(api_key, min_version, max_version))
    return items, at


def _read_supported_feature_key_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[SupportedFeatureKey], int]:
    items: list[SupportedFeatureKey] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("SupportedFeatureKey", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "SupportedFeatureKey.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("SupportedFeatureKey.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("SupportedFeatureKey.Name") from None
        at = stop
        if end - at < 5:
            raise cut_off("SupportedFeatureKey", "MinVersion=2 MaxVersion=2 tags=1", end - at)
        min_version, max_version, tags = _unpack_hhB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "SupportedFeatureKey")
        items.append(SupportedFeatureKey(name, min_version, max_version))
    return items, at


def _read_finalized_feature_key_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FinalizedFeatureKey], int]:
    items: list[FinalizedFeatureKey] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("FinalizedFeatureKey", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "FinalizedFeatureKey.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("FinalizedFeatureKey.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("FinalizedFeatureKey.Name") from None
        at = stop
        if end - at < 5:
            raise cut_off("FinalizedFeatureKey", "MaxVersionLevel=2 MinVersionLevel=2 tags=1", end - at)
        max_version_level, min_version_level, tags = _unpack_hhB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "FinalizedFeatureKey")
        items.append(FinalizedFeatureKey(name, max_version_level, min_version_level))
    return items, at


def _read_api_versions_response_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ApiVersionsResponse], int]:
    items: list[ApiVersionsResponse] = []
    for _ in range(count):
        if end - at < 3:
            raise cut_off("ApiVersionsResponse", "ErrorCode=2 ApiKeys=1", end - at)
        error_code, n = _unpack_hB(data, at)
        at += 3
        if n > 127:
            n, at = long_varint(data, at, end, n, "ApiVersionsResponse.ApiKeys")
        n -= 1
        room[0] -= n
        if n < 0 or 7 * n > end - at or room[0] < 0:
            raise bad_count("ApiVersionsResponse.ApiKeys", n, end - at, room[0])
        api_keys, at = _read_api_version_3(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("ApiVersionsResponse", "ThrottleTimeMs=4 tags=1", end - at)
        throttle_time_ms, tags = _unpack_iB(data, at)
        at += 5
        supported_features: list[SupportedFeatureKey] = []
        finalized_features_epoch: int = -1
        finalized_features: list[FinalizedFeatureKey] = []
        zk_migration_ready: bool = False
        if tags:
            tags, at = tag_count(data, at, end, tags, "ApiVersionsResponse")
            for _ in range(tags):
                tag, size, at = tag_head(data, at, end, "ApiVersionsResponse")
                tag_end = at + size
                if tag == 0:
                    if at >= tag_end:
                        raise cut_off("ApiVersionsResponse", "SupportedFeatures=1", tag_end - at)
                    n = data[at]
                    at += 1
                    if n > 127:
                        n, at = long_varint(data, at, tag_end, n, "ApiVersionsResponse.SupportedFeatures")
                    n -= 1
                    room[0] -= n
                    if n < 0 or 6 * n > tag_end - at or room[0] < 0:
                        raise bad_count("ApiVersionsResponse.SupportedFeatures", n, tag_end - at, room[0])
                    supported_features, at = _read_supported_feature_key_3(data, at, tag_end, room, n)
                    if at != tag_end:
                        raise bad_tag("ApiVersionsResponse.SupportedFeatures")
                elif tag == 1:
                    if tag_end - at < 8:
                        raise cut_off("ApiVersionsResponse", "FinalizedFeaturesEpoch=8", tag_end - at)
                    finalized_features_epoch = _unpack_q(data, at)[0]
                    at += 8
                    if at != tag_end:
                        raise bad_tag("ApiVersionsResponse.FinalizedFeaturesEpoch")
                elif tag == 2:
                    if at >= tag_end:
                        raise cut_off("ApiVersionsResponse", "FinalizedFeatures=1", tag_end - at)
                    n = data[at]
                    at += 1
                    if n > 127:
                        n, at = long_varint(data, at, tag_end, n, "ApiVersionsResponse.FinalizedFeatures")
                    n -= 1
                    room[0] -= n
                    if n < 0 or 6 * n > tag_end - at or room[0] < 0:
                        raise bad_count("ApiVersionsResponse.FinalizedFeatures", n, tag_end - at, room[0])
                    finalized_features, at = _read_finalized_feature_key_3(data, at, tag_end, room, n)
                    if at != tag_end:
                        raise bad_tag("ApiVersionsResponse.FinalizedFeatures")
                elif tag == 3:
                    if at >= tag_end:
                        raise cut_off("ApiVersionsResponse", "ZkMigrationReady=1", tag_end - at)
                    zk_migration_ready = _unpack_t(data, at)[0]
                    at += 1
                    if at != tag_end:
                        raise bad_tag("ApiVersionsResponse.ZkMigrationReady")
                else:
                    at = tag_end
        items.append(ApiVersionsResponse(error_code, api_keys, throttle_time_ms, supported_features, finalized_features_epoch, finalized_features, zk_migration_ready))
    return items, at


def _write_api_version_0(items: Iterable[ApiVersion], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_hhh(m.api_key, m.min_version, m.max_version))


def _write_api_versions_response_0(items: Iterable[ApiVersionsResponse], out: list[Buffer]) -> None:
    for m in items:
        api_keys = m.api_keys
        n = len(api_keys)
        out.append(_pack_hi(m.error_code, n))
        if api_keys:
            _write_api_version_0(api_keys, out)


def _write_api_versions_response_1(items: Iterable[ApiVersionsResponse], out: list[Buffer]) -> None:
    for m in items:
        api_keys = m.api_keys
        n = len(api_keys)
        out.append(_pack_hi(m.error_code, n))
        if api_keys:
            _write_api_version_0(api_keys, out)
        out.append(_pack_i(m.throttle_time_ms))


def _write_api_version_3(items: Iterable[ApiVersion], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_hhhx(m.api_key, m.min_version, m.max_version))


def _write_supported_feature_key_3(items: Iterable[SupportedFeatureKey], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(_pack_hhx(m.min_version, m.max_version))


def _write_finalized_feature_key_3(items: Iterable[FinalizedFeatureKey], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(_pack_hhx(m.max_version_level, m.min_version_level))


def _write_api_versions_response_3(items: Iterable[ApiVersionsResponse], out: list[Buffer]) -> None:
    for m in items:
        api_keys = m.api_keys
        n = len(api_keys) + 1
        if n > 127:
            out.append(_pack_h(m.error_code) + varint_of(n))
        else:
            out.append(_pack_hB(m.error_code, n))
        if api_keys:
            _write_api_version_3(api_keys, out)
        out.append(_pack_i(m.throttle_time_ms))
        if not m.supported_features and m.finalized_features_epoch == -1 and not m.finalized_features and not m.zk_migration_ready:
            out.append(ONE_BYTE[0])
            continue
        tags: list[tuple[int, list[Buffer]]] = []
        if not (not m.supported_features):
            part: list[Buffer] = []
            supported_features = m.supported_features
            n = len(supported_features) + 1
            if n > 127:
                part.append(varint_of(n))
            else:
                part.append(ONE_BYTE[n])
            if supported_features:
                _write_supported_feature_key_3(supported_features, part)
            tags.append((0, part))
        if not (m.finalized_features_epoch == -1):
            part = []
            part.append(_pack_q(m.finalized_features_epoch))
            tags.append((1, part))
        if not (not m.finalized_features):
            part = []
            finalized_features = m.finalized_features
            n = len(finalized_features) + 1
            if n > 127:
                part.append(varint_of(n))
            else:
                part.append(ONE_BYTE[n])
            if finalized_features:
                _write_finalized_feature_key_3(finalized_features, part)
            tags.append((2, part))
        if not (not m.zk_migration_ready):
            part = []
            part.append(_pack_t(m.zk_migration_ready))
            tags.append((3, part))
        write_tags(tags, out)


ApiVersionsResponse._READERS = {
    **dict.fromkeys(range(0, 1), _read_api_versions_response_0),
    **dict.fromkeys(range(1, 3), _read_api_versions_response_1),
    **dict.fromkeys(range(3, 5), _read_api_versions_response_3),
}
ApiVersionsResponse._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_api_versions_response_0),
    **dict.fromkeys(range(1, 3), _write_api_versions_response_1),
    **dict.fromkeys(range(3, 5), _write_api_versions_response_3),
}
