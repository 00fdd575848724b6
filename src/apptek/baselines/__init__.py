"""The baselines: counting, and embeddings that answer the same queries."""
