"""Reading files of facts, in several formats, into a data set."""
