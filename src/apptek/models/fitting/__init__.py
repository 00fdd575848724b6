"""Fitting a model: its examples, its weights, and the stages of a fit."""
