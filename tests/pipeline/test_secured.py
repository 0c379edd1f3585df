"""Spark and an Apache Kafka broker that asks for a login over TLS."""

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from tests.support.secured_kafka import SecuredKafka, jaas

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


def test_a_wrong_password_is_told(spark: "SparkSession", secured: SecuredKafka) -> None:
    wrong = options(secured, **{"sasl.jaas.config": jaas("SCRAM", password="hunter2")})
    with pytest.raises(Exception, match="check user and password in sasl") as caught:
        spark.read.format("ottla").options(**wrong, subscribe="t").load().count()
    assert "hunter2" not in str(caught.value)
