"""The daily run of a project: update a model, score old forecasts, make and store new ones."""
