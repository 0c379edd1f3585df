"""Order totals by customer's name: orders name their customer (foreign-key join); totals follow every change."""

from ottla.streams import StreamsBuilder, f

b = StreamsBuilder()
orders = b.table("orders", key="string", value="json")
customers = b.table("customers", key="string", value="json")

named = orders.join(
    customers,
    f.struct(customer=f.right.name, amount=f.left.amount),
    foreign_key=f.value.customer_id,
)
totals = named.group_by((f.value.customer, f.value), key="string").aggregate(
    f.struct(total=f.sum(f.value.amount), orders=f.count()), store="totals"
)
totals.to_stream().to("order-totals", key="string", value="json")

topology = b.build()
