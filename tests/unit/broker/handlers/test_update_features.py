"""UpdateFeatures: levels are those of the release, and whoever asks for these is content."""

import pytest

from ottla.protocol.apis.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client

IN_FORCE = FeatureUpdateKey(feature="transaction.version", max_version_level=2)


def update(*updates: FeatureUpdateKey) -> UpdateFeaturesRequest:
    return UpdateFeaturesRequest(feature_updates=list(updates))


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_level_in_force_may_be_asked_for(client: Client, version: int) -> None:
    answer = client.ask(update(IN_FORCE), version)
    assert answer.error_code == ErrorCode.NONE
    named = [(result.feature, result.error_code) for result in answer.results]
    assert named == ([("transaction.version", ErrorCode.NONE)] if version < 2 else [])


@pytest.mark.parametrize("version", [0, 1, 2])
def test_one_unknown_feature_and_all_are_refused(client: Client, version: int) -> None:
    unknown = FeatureUpdateKey(feature="no.such", max_version_level=1)
    answer = client.ask(update(IN_FORCE, unknown), version)
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert "no.such" in answer.error_message
    assert answer.results == []


@pytest.mark.parametrize(("level", "kind"), [(3, 1), (-1, 1), (1, 1), (2, 0), (2, 4)])
def test_levels_and_kinds_of_upgrade_that_are_none(client: Client, level: int, kind: int) -> None:
    asked = FeatureUpdateKey(
        feature="transaction.version", max_version_level=level, upgrade_type=kind
    )
    answer = client.ask(update(asked))
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert "transaction.version" in answer.error_message


@pytest.mark.parametrize("kind", [2, 3])
def test_nothing_is_downgraded(client: Client, kind: int, ottla_only: None) -> None:
    asked = FeatureUpdateKey(feature="transaction.version", max_version_level=1, upgrade_type=kind)
    answer = client.ask(update(asked))
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert "stays at level 2" in answer.error_message
