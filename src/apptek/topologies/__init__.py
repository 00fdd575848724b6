"""What the agent found: topologies, named, mined, and applied to queries as binary features."""
