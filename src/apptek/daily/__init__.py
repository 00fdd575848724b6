"""A project's daily run: update the model, score old forecasts, make and store new ones."""
