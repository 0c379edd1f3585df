"""Pure: decides what changes to the settings of topics, brokers and groups write into the tree."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ottla.base.errors import ApiError, ConfigError
from ottla.base.units import KiB
from ottla.cluster import znodes
from ottla.cluster.image import ConfigImage, Image
from ottla.cluster.tree import Create, Delete, Op, Set
from ottla.config.dynamic import Change, alter_broker, alter_group, alter_topic
from ottla.config.dynamic import Op as ConfigOp
from ottla.config.groups import GroupsConfig
from ottla.config.log import LogConfig
from ottla.config.table import Settings, with_dynamic
from ottla.controller.min_isr import MIN_ISR, without_elr
from ottla.controller.refusals import refused_group_setting, refused_setting
from ottla.controller.requests import ConfigAlteration, ConfigResult, Decision, ResourceType
from ottla.protocol.errors import ErrorCode

MAX_NODE_BYTES: Final = 512 * KiB
"""Half of what ZooKeeper takes: names that nobody knows are kept, but not without end."""

_BROKER_ID: Final = re.compile(r"[0-9]{1,10}", re.ASCII)


class ConfigBasis(NamedTuple):
    """What decisions about settings are based on.

    `static` is what the broker was started with, `log` what a topic has that overrides nothing.
    """

    image: Image
    static: Settings
    log: LogConfig
    controller_epoch: int


def decide_configs(
    now: ConfigBasis, alterations: Sequence[ConfigAlteration]
) -> Decision[ConfigResult]:
    """Decides which changes can be made; of one resource, all of them or none."""
    asked = Counter(alteration[:2] for alteration in alterations)
    ops: list[Op] = []
    results: list[ConfigResult] = []
    for alteration in {alteration[:2]: alteration for alteration in alterations}.values():
        kind, name = alteration[:2]
        try:
            if asked[kind, name] > 1:
                raise ApiError(ErrorCode.INVALID_REQUEST, "the resource is named more than once")
            if kind == ResourceType.TOPIC:
                ops += _topic_change(now, alteration)
            elif kind == ResourceType.BROKER:
                ops += _broker_change(now, alteration)
            elif kind == ResourceType.GROUP:
                ops += _group_change(now.image, now.static.groups, alteration)
            else:
                raise ApiError(
                    ErrorCode.INVALID_REQUEST, f"resources of type {kind} have no settings here"
                )
        except ApiError as error:
            results.append(ConfigResult(kind, name, ErrorCode(error.code), error.message))
        else:
            results.append(ConfigResult(kind, name))
    return Decision(ops, results)


def cluster_min_isr(now: ConfigBasis) -> Sequence[ConfigAlteration]:
    """What gives a new cluster its `min.insync.replicas`: that of the broker which is its controller first."""
    if now.static.zookeeper.connect is None or MIN_ISR in now.image.broker_config(None):
        return []
    change = Change(MIN_ISR, ConfigOp.SET, str(now.static.log.min_insync_replicas))
    return [ConfigAlteration(ResourceType.BROKER, "", [change])]


def _topic_change(now: ConfigBasis, alteration: ConfigAlteration) -> list[Op]:
    name, image = alteration.resource_name, now.image
    if name not in image.topics:
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        raise ApiError(unknown, unknown.message)
    current = image.topic_configs.get(name)
    try:
        values = alter_topic(_base(current, alteration), alteration.changes, now.log)
    except ConfigError as error:
        raise ApiError(ErrorCode.INVALID_CONFIG, refused_setting(error)) from None
    written = _write(znodes.topic_config_path(name), current, values)
    before = image.topic_config(name)
    return [*without_elr(image, name, before, values, now.controller_epoch), *written]


def _broker_change(now: ConfigBasis, alteration: ConfigAlteration) -> list[Op]:
    name, (image, static) = alteration.resource_name, now[:2]
    if name and not _BROKER_ID.fullmatch(name):
        raise ApiError(ErrorCode.INVALID_REQUEST, f"this is not the id of a broker: {name!r}")
    if name and int(name) not in image.brokers:
        raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"no broker has the id {name}")
    key = str(int(name)) if name else znodes.DEFAULT_BROKER
    current = image.broker_configs.get(key)
    under = with_dynamic(static, image.broker_config(None)) if name else static
    try:
        values = alter_broker(_base(current, alteration), alteration.changes, under)
    except ConfigError as error:
        # Kafka tells of bad broker settings with this code and not INVALID_CONFIG (KAFKA-13609).
        raise ApiError(ErrorCode.INVALID_REQUEST, str(error)) from None
    before = image.broker_config(int(name) if name else None)
    if alteration.replace and not name and MIN_ISR in before:
        values.setdefault(MIN_ISR, before[MIN_ISR])
    written = _write(znodes.broker_config_path(key), current, values)
    if static.zookeeper.connect is None:
        return written
    if name and before.get(MIN_ISR) != values.get(MIN_ISR, before.get(MIN_ISR)):
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"{MIN_ISR} is one for the whole cluster; set it without naming a broker"
            " (kafka-configs --entity-type brokers --entity-default)",
        )
    if not name and MIN_ISR in before and MIN_ISR not in values:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"the cluster must have a {MIN_ISR}: set it to another value in place of deleting it",
        )
    if name:
        return written
    return [*without_elr(image, None, before, values, now.controller_epoch), *written]


def _group_change(image: Image, config: GroupsConfig, alteration: ConfigAlteration) -> list[Op]:
    """A group need not exist to have settings, and one without any leaves no node behind."""
    name = alteration.resource_name
    if not name:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
    current = image.group_configs.get(name)
    try:
        values = alter_group(_base(current, alteration), alteration.changes, config)
    except ConfigError as error:
        raise ApiError(ErrorCode.INVALID_CONFIG, refused_group_setting(error)) from None
    path = znodes.group_config_path(name)
    if not values:
        return [] if current is None else [Delete(path, current.version)]
    return _write(path, current, values)


def _base(current: ConfigImage | None, alteration: ConfigAlteration) -> Mapping[str, str]:
    return {} if current is None or alteration.replace else current.values


def _write(path: str, current: ConfigImage | None, values: Mapping[str, str]) -> list[Op]:
    data = znodes.encode_config(values)
    if len(data) > MAX_NODE_BYTES:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"the settings take {len(data)} bytes, and at most {MAX_NODE_BYTES} can be kept",
        )
    if current is None:
        return [Create(path, data)]
    return [] if current.values == values else [Set(path, data, current.version)]
