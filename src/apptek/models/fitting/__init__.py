"""The fit of a model: examples, weights, stages."""
