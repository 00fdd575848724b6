"""Batches of queries that are tables of Arrow or Parquet, and answers of that kind."""
