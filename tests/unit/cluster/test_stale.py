"""Which parts of the image an event makes stale."""

from ottla.cluster.stale import Stale
from ottla.cluster.tree import TreeEvent


def noted(*paths: str) -> Stale:
    """What is stale after changes at the paths."""
    stale = Stale()
    stale.note(TreeEvent(path) for path in paths)
    return stale


def test_each_path_makes_its_own_part_stale() -> None:
    assert noted("/brokers/topics/a").topics == {"a": None}
    assert noted("/brokers/topics/a/partitions/3/state").topics == {"a": {3}}
    assert noted("/config/topics/a").topic_configs == {"a"}
    assert noted("/config/brokers/<default>").broker_configs == {"<default>"}
    assert noted("/config/groups/a%2Fb%20c").group_configs == {"a/b c"}
    assert noted("/brokers/ids/7").brokers == {7}
    assert noted("/controller", "/feature", "/cluster/id").singles == {
        "/controller",
        "/feature",
        "/cluster/id",
    }


def test_a_whole_topic_includes_its_partitions() -> None:
    state, topic = "/brokers/topics/a/partitions/3/state", "/brokers/topics/a"
    assert noted(state, topic).topics == noted(topic, state).topics == {"a": None}


def test_what_the_image_does_not_show_makes_nothing_stale() -> None:
    paths = ("/", "/brokers", "/brokers/seqid", "/brokers/topics", "/latest_producer_id_block")
    odd = ("/brokers/ids/x", "/brokers/topics/a/partitions", "/controller_epoch")
    assert noted(*paths, *odd) == Stale()


def test_an_event_of_a_subtree_makes_everything_stale() -> None:
    stale = Stale()
    stale.note([TreeEvent("/", subtree=True)])
    assert stale.everything
