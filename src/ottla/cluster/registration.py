"""This broker's place in the tree: its registration, its generated id, the name of the cluster."""

import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from ottla.base.errors import ClusterError
from ottla.base.ids import id_text
from ottla.base.log import logger
from ottla.cluster.tree import (
    Check,
    Create,
    Delete,
    MultiFailed,
    NodeExists,
    NoNode,
    Op,
    Set,
    Stat,
    Tree,
)
from ottla.cluster.znodes import (
    BROKER_IDS,
    BROKER_SEQUENCE,
    CLUSTER_ID,
    CONTROLLER,
    CONTROLLER_EPOCH,
    BrokerNode,
    Endpoint,
    IncarnationNode,
    broker_path,
    decode_broker,
    decode_cluster_id,
    decode_incarnation,
    encode_broker,
    encode_cluster_id,
    encode_incarnation,
    incarnation_path,
)

log = logger(__name__)

MAX_ATTEMPTS: Final = 20
NOT_CLEAN: Final = -1
"""In place of a broker epoch: nothing shows that the broker stopped cleanly."""


class IdTaken(ClusterError):
    """A broker with other log directories is registered with the id; `address` is where it listens."""

    def __init__(self, broker_id: int, address: Endpoint) -> None:
        super().__init__(
            f"broker id {broker_id} is registered already, by the broker at "
            f"{address.host}:{address.port}; give each broker its own broker.id, or wait until that "
            "one's session has ended if it no longer runs"
        )
        self.address = address


class Registration(NamedTuple):
    """A broker as it was registered; epoch and incarnation grow with each registration, the life only if it ended."""

    broker_id: int
    broker_epoch: int
    incarnation: int
    life: int = 0


class Proof(NamedTuple):
    """What a broker can show for going on with the life that it had (docs/adr/0010-lives.md).

    `process` is a token that the process made up; `clean_epoch` the broker epoch that the clean-shutdown files of all
    its directories name, -1 if they do not, or if a log is not what it was then.
    """

    process: str
    clean_epoch: int = NOT_CLEAN


NO_PROOF: Final = Proof("")


class _Standing(NamedTuple):
    """What the tree holds of one broker, and of the controller."""

    registration: tuple[bytes, Stat] | None
    incarnation: tuple[bytes, Stat] | None
    controller: tuple[bytes, Stat] | None
    controller_epoch: tuple[bytes, Stat] | None


async def register_broker(
    tree: Tree,
    broker_id: int,
    node: BrokerNode,
    directories: Sequence[str] = (),
    proof: Proof = NO_PROOF,
) -> Registration:
    """Registers a broker and counts its incarnation in one step; ClusterError if the id is taken.

    The incarnation outlives the broker. Whoever suspects a broker checks it when it deletes the
    registration, since a registration made anew begins at version 0 again.

    `directories` are the ids of the log directories whose locks the caller holds. A registration
    that names one of them is the caller's own, left by a process that no longer runs or by a
    session that was lost: it is replaced at once, and with it what that session held as controller.
    A registration of this very session with these directories is left as it is, so that after
    OutcomeUnknown it may simply be asked for again.
    """
    for _ in range(MAX_ATTEMPTS):
        standing = await _look(tree, broker_id)
        if _is_done(broker_id, standing, tree.session_id, directories):
            return _registered(broker_id, standing)
        _refuse_if_taken(broker_id, standing, directories)
        try:
            await tree.multi(_ops(broker_id, node, directories, proof, standing, tree.session_id))
        except MultiFailed as failed:
            log.info("registration overtaken", broker=broker_id, by=failed)
    raise ClusterError(
        f"broker id {broker_id} changed hands {MAX_ATTEMPTS} times while it was to be registered; "
        "give each broker its own broker.id"
    )


async def check_place(tree: Tree, broker_id: int, directories: Sequence[str]) -> None:
    """Refuses (ClusterError) a place that is another's, before anything of this broker is made there.

    A broker that counts no incarnations is none of ours: no message of ours would reach it.
    """
    try:
        registered = [each for each in await tree.children(BROKER_IDS) if each.isdecimal()]
    except NoNode:
        return
    counted = await tree.get_many([incarnation_path(int(each)) for each in registered])
    strange = [each for each, found in zip(registered, counted, strict=True) if found is None]
    if strange:
        raise ClusterError(
            f"the brokers registered there ({', '.join(strange)}) belong to another kind of "
            "cluster; give each cluster a chroot of its own in zookeeper.connect"
        )
    _refuse_if_taken(broker_id, await _look(tree, broker_id), directories)


async def last_registered(tree: Tree, brokers: Iterable[int]) -> dict[int, int]:
    """When brokers registered last, in milliseconds; those that never did are left out."""
    paths = {each: incarnation_path(each) for each in sorted(brokers)}
    found = await tree.get_many(list(paths.values()))
    return {
        each: decode_incarnation(path, node[0]).registered_ms
        for (each, path), node in zip(paths.items(), found, strict=True)
        if node is not None
    }


async def generate_broker_id(tree: Tree, reserved_max: int) -> int:
    """Makes an id that no broker has had, above those reserved for ids given by hand."""
    with suppress(NodeExists):  # as in every tree that has had a broker
        await tree.create(BROKER_SEQUENCE, make_parents=True)
    return reserved_max + (await tree.set(BROKER_SEQUENCE, b"")).version


async def ensure_cluster_id(tree: Tree, expected: str | None = None) -> str:
    """Returns the name of the cluster, which the first broker to ask makes up.

    A broker that already belongs to a cluster makes up no other: it has come to the wrong place.
    """
    while True:
        try:
            data, _ = await tree.get(CLUSTER_ID)
            return decode_cluster_id(CLUSTER_ID, data)
        except NoNode:
            made = id_text(uuid.uuid4())
        if expected is not None:
            raise ClusterError(
                f"this broker's data belong to cluster {expected}, but the metadata tree it was "
                "pointed to is empty; check zookeeper.connect and its chroot"
            )
        try:
            await tree.create(CLUSTER_ID, encode_cluster_id(made), make_parents=True)
        except NodeExists:
            continue
        return made


async def _look(tree: Tree, broker_id: int) -> _Standing:
    paths = broker_path(broker_id), incarnation_path(broker_id), CONTROLLER, CONTROLLER_EPOCH
    return _Standing(*await tree.get_many(paths))


def _is_done(
    broker_id: int, standing: _Standing, session_id: int, directories: Sequence[str]
) -> bool:
    if standing.registration is None or standing.registration[1].ephemeral_owner != session_id:
        return False
    known = _known(broker_id, standing)
    return known is not None and set(known.directories) == set(directories)


def _registered(broker_id: int, standing: _Standing) -> Registration:
    assert standing.registration is not None
    data, stat = standing.registration
    node = decode_broker(broker_path(broker_id), data)
    return Registration(broker_id, stat.czxid, node.incarnation, node.life or 0)


def _known(broker_id: int, standing: _Standing) -> IncarnationNode | None:
    if standing.incarnation is None:
        return None
    return decode_incarnation(incarnation_path(broker_id), standing.incarnation[0])


def _refuse_if_taken(broker_id: int, standing: _Standing, directories: Sequence[str]) -> None:
    if standing.registration is None:
        return
    known = _known(broker_id, standing)
    if known is None or not set(known.directories) & set(directories):
        path, (data, _) = broker_path(broker_id), standing.registration
        raise IdTaken(broker_id, decode_broker(path, data).endpoints[0])


def _ops(
    broker_id: int,
    node: BrokerNode,
    directories: Sequence[str],
    proof: Proof,
    standing: _Standing,
    session_id: int,
) -> list[Op]:
    """All of it or nothing: whoever registers in between counts the incarnation, and we fail."""
    path, incarnation = broker_path(broker_id), incarnation_path(broker_id)
    before = standing.incarnation
    count = 0 if before is None else before[1].version + 1
    kept = _kept_life(_known(broker_id, standing), directories, proof, before)
    # The count of registrations: no earlier life had it, whichever build wrote the node in between.
    life = count if kept is None else kept
    marker = encode_incarnation(
        node.timestamp_ms, IncarnationNode(tuple(directories), life, proof.process)
    )
    ops: list[Op] = []
    if before is None:
        ops.append(Create(incarnation, marker))
    else:
        ops.append(Set(incarnation, marker, before[1].version))
    if standing.registration is not None:
        ops.append(Delete(path))
        owner = standing.registration[1].ephemeral_owner
        ops += [] if owner == session_id else _depose(standing, owner)
    goes_on = kept is not None or before is None
    registered = node._replace(life=life, incarnation=count, clean=goes_on)
    return [*ops, Create(path, encode_broker(registered), ephemeral=True)]


def _kept_life(
    known: IncarnationNode | None,
    directories: Sequence[str],
    proof: Proof,
    before: tuple[bytes, Stat] | None,
) -> int | None:
    """The life that goes on, if the proof is good: all that was acknowledged in it is still there.

    Only registrations write the incarnation's node, so its mzxid is the broker epoch of the last one.
    """
    if known is None or before is None or set(known.directories) != set(directories):
        return None
    same_process = bool(proof.process) and known.process == proof.process
    return known.life if same_process or proof.clean_epoch == before[1].mzxid else None


def _depose(standing: _Standing, session_id: int) -> list[Op]:
    """Ends the rule of the session that is replaced; whoever rules after it has another epoch."""
    controller, epoch = standing.controller, standing.controller_epoch
    if controller is None or epoch is None or controller[1].ephemeral_owner != session_id:
        return []
    return [Check(CONTROLLER_EPOCH, epoch[1].version), Delete(CONTROLLER)]
