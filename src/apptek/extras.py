"""Libraries that a plain installation does without."""

from importlib.util import find_spec

from apptek.errors import ApptekError


def require_torch(who: str = "the agent") -> None:
    """Says what to install where the libraries that learn are missing."""
    if find_spec("torch") is None or find_spec("safetensors") is None:
        raise ApptekError(f"{who} needs PyTorch: pip install 'apptek[agent]'")


def require_service() -> None:
    """Says what to install where the service's libraries are missing."""
    missing = [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]
    if missing:
        names = " and ".join(missing)
        raise ApptekError(f"the service needs {names}: pip install 'apptek[serve]'")


def require_matplotlib() -> None:
    """Says what to install where figures cannot be drawn."""
    if find_spec("matplotlib") is None:
        raise ApptekError("figures need Matplotlib: pip install 'apptek[figures]'")
