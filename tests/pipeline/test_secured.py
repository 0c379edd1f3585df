"""Spark and an Apache Kafka broker that asks for a login over TLS."""

from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from tests.support.secured_kafka import PASSWORD, SecuredKafka, jaas

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.compat


def options(secured: SecuredKafka, **changed: str) -> dict[str, str]:
    settings = secured.settings("SASLTLS") | changed
    return {f"kafka.{name}": value for name, value in settings.items()}


def test_rows_are_written_and_read_over_tls_with_a_login(
    spark: "SparkSession", secured: SecuredKafka
) -> None:
    topic = f"t-{uuid4().hex}"
    rows = spark.range(1000).selectExpr("cast(id as string) as value")
    rows.write.format("ottla").options(**options(secured), topic=topic).mode("append").save()
    read = spark.read.format("ottla").options(**options(secured), subscribe=topic).load()
    values = {row.value for row in read.selectExpr("cast(value as string) as value").collect()}
    assert values == {str(n) for n in range(1000)}


def test_a_stream_is_read_over_tls_with_keystores_of_java(
    spark: "SparkSession", secured: SecuredKafka, tmp_path: Path
) -> None:
    own, trusted = tmp_path / "own.p12", tmp_path / "ca.p12"
    own.write_bytes(secured.authority.issue("client").pkcs12(PASSWORD))
    trusted.write_bytes(secured.authority.trusted_pkcs12(PASSWORD))
    stores = {
        "kafka.bootstrap.servers": secured.address("MUTUAL"),
        "kafka.security.protocol": "SSL",
        "kafka.ssl.truststore.location": str(trusted),
        "kafka.ssl.truststore.password": PASSWORD,
        "kafka.ssl.keystore.location": str(own),
        "kafka.ssl.keystore.password": PASSWORD,
    }
    topic = f"t-{uuid4().hex}"
    rows = spark.range(100).selectExpr("cast(id as string) as value")
    rows.write.format("ottla").options(**options(secured), topic=topic).mode("append").save()
    read = spark.readStream.format("ottla").options(**stores, startingOffsets="earliest")
    seen: list[str] = []
    writer = read.option("subscribe", topic).load().selectExpr("cast(value as string) as value")
    query = (
        writer.writeStream.foreachBatch(
            lambda frame, _: seen.extend(r.value for r in frame.collect())
        )
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    assert sorted(seen, key=int) == [str(n) for n in range(100)]


def test_a_wrong_password_is_told(spark: "SparkSession", secured: SecuredKafka) -> None:
    wrong = options(secured, **{"sasl.jaas.config": jaas("SCRAM", password="hunter2")})
    with pytest.raises(Exception, match="check user and password in sasl") as caught:
        spark.read.format("ottla").options(**wrong, subscribe="t").load().count()
    assert "hunter2" not in str(caught.value)
