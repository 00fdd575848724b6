"""Libraries that a plain installation does without."""

from importlib.util import find_spec

from apptek.errors import ApptekError


def require_torch(who: str = "the agent") -> None:
    """Says what to install where the libraries that learn are missing."""
    if find_spec("torch") is None or find_spec("safetensors") is None:
        raise ApptekError(f"{who} needs PyTorch: pip install 'apptek[agent]'")


def require_matplotlib() -> None:
    """Says what to install where figures cannot be drawn."""
    if find_spec("matplotlib") is None:
        raise ApptekError("figures need Matplotlib: pip install 'apptek[figures]'")
