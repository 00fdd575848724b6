"""What a model believes, as rules that people can read, veto, change and add to."""
