"""What a model sees of a query, as named sparse columns: history, traits and topologies."""
