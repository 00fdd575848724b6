"""How a model is fitted: examples, weights, stages."""
