"""Features: what a model knows about a query, as named sparse columns.

history     what the pair did, to each other and to others, by predicate and time
traits      the pair's entities themselves, and their types
topologies  which of the paper's topologies connect the pair
"""
