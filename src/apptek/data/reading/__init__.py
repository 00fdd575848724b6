"""Files of facts in many formats become a data set."""
