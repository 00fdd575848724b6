"""The baselines, counting and trained embeddings, which answer the same queries as our models."""
