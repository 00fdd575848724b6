"""What can go wrong for a user, each as one clear line."""


class ApptekError(Exception):
    """Base of every error a user can cause; the command line prints it and exits with code 1."""


class DataError(ApptekError):
    """A file of facts that cannot be read as it is."""


class TimeFormatError(DataError):
    """A text that is not a time, or not one on this data's axis."""


class DownloadError(ApptekError):
    """A benchmark that could not be fetched, or is not what it should be."""


class GraphError(ApptekError):
    """A saved graph that is damaged or of another format, or a question that it cannot answer."""


class ConfigError(ApptekError):
    """A setting that does not exist or makes no sense."""


class CheckpointError(ApptekError):
    """A checkpoint that is damaged, or of another run."""


class ModelError(ApptekError):
    """A model folder that is missing, damaged or of another format."""


class DivergedError(ApptekError):
    """Training has lost itself in large numbers: other settings are needed."""


class StoppedError(ApptekError):
    """The user has stopped a command; says how to go on."""
