"""The rivals: counting and embeddings that answer the same queries."""
