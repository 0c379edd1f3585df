"""Pure: the graph of a stream application: typed nodes, stores and sub-topologies; nothing here runs."""
