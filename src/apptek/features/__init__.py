"""Features: what a model sees of a query, as named sparse columns.

history     what the two entities did, to each other and to others, by predicate and time
traits      what the two entities are: themselves and their types
topologies  which of the paper's topologies connect them
"""
