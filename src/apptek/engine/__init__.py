"""`map_queries`: process shards of queries with threads, local processes or a Ray cluster."""

from apptek.engine.engine import EngineName, map_queries, use_engine

__all__ = ["EngineName", "map_queries", "use_engine"]
