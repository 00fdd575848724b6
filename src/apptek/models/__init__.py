"""From features to probabilities: linear softmax, re-ranker, fitting, and model folder."""
