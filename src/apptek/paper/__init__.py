"""The agent: the paper's Markov decision process on a graph, and deep Q-learning in it."""
