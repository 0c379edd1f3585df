"""Page views by region: each view meets the row of its user, as the table is then (stream-table join)."""

from dataclasses import dataclass

from ottla.streams import JsonSerde, StreamsBuilder, f


@dataclass
class View:
    page: str


@dataclass
class User:
    name: str
    region: str


b = StreamsBuilder()
views = b.stream("page-views", key="string", value=JsonSerde(View))
users = b.table("users", key="string", value=JsonSerde(User))

regions = views.left_join(users, f.coalesce(f.right.region, "unknown"))
counts = regions.group_by(f.value).count(store="views-by-region")
counts.to_stream().to("views-by-region", key="string", value="long")

topology = b.build()
