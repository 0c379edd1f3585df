"""Records between a connector and a converter: schemas, structs and headers as Kafka Connect defines them."""
