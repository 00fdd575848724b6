"""Optional libraries: what to install if one is missing, and how torch is used."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from apptek.errors import ApptekError, ModelError


def has_torch() -> bool:
    """Return whether PyTorch and safetensors are installed."""
    return find_spec("torch") is not None and find_spec("safetensors") is not None


def require(who: str, extra: str, *libraries: str) -> None:
    """Raise ApptekError with an installation command if any of the libraries is missing.

    who  what needs them, including the verb: "the service needs"
    """
    missing = [name for name in libraries if find_spec(name) is None]
    if missing:
        raise ApptekError(f"{who} {' and '.join(missing)}: pip install 'apptek[{extra}]'")


def require_torch(who: str = "the agent") -> None:
    """Raise ApptekError with an installation command if PyTorch is missing."""
    require(f"{who} needs", "agent", "torch", "safetensors")


def require_trees(who: str = "boosted trees need") -> None:
    """Raise ApptekError with an installation command if LightGBM is missing."""
    require(who, "max", "lightgbm")


def require_matplotlib() -> None:
    """Raise ApptekError with an installation command if Matplotlib is missing."""
    require("figures need", "figures", "matplotlib")


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Limit torch to one thread within a block or a decorated function.

    The networks here are small: with another busy process, two threads only wait for each other.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def parse_trees(text: str, whose: str) -> Any:
    """Return the LightGBM booster stored in a text. Raise ModelError if the text is damaged."""
    require_trees(f"{whose} needs")
    import lightgbm

    try:
        if "\nend of trees\n" not in text:  # LightGBM would crash
            raise ModelError(f"the trees of {whose} are damaged: their end is missing")
        return lightgbm.Booster(model_str=text)
    except lightgbm.basic.LightGBMError as error:
        raise ModelError(f"the trees of {whose} are damaged: {error}") from None
