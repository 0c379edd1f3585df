"""What an admin client can ask of a cluster, one module for each sort of thing."""
