"""The agent: the paper's MDP on the graph, and deep Q-learning in it."""
