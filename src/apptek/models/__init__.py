"""From features to probabilities: linear softmax, re-ranker, the fit, and the model folder."""
