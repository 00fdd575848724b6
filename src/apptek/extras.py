"""Optional libraries: what to install when one is missing, and how torch is used."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from apptek.errors import ApptekError, ModelError


def has_torch() -> bool:
    """Return whether PyTorch and safetensors are installed."""
    return find_spec("torch") is not None and find_spec("safetensors") is not None


def require_torch(who: str = "the agent") -> None:
    """Raise ApptekError with the command that installs PyTorch, if it is missing."""
    if not has_torch():
        raise ApptekError(f"{who} needs PyTorch: pip install 'apptek[agent]'")


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Lets torch use one thread, then as many as before; with a block or as a decorator.

    The networks here are small: two threads beside another busy process only wait for each other.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def require_service() -> None:
    """Raise ApptekError with the command that installs the web server, if it is missing."""
    _require("the service", ("fastapi", "uvicorn"), "serve")


def require_mcp() -> None:
    """Raise ApptekError with the command that installs the package mcp, if it is missing."""
    _require("the server for assistants", ("mcp", "fastapi", "uvicorn"), "mcp")


def _require(who: str, libraries: tuple[str, ...], extra: str) -> None:
    missing = [name for name in libraries if find_spec(name) is None]
    if missing:
        raise ApptekError(f"{who} needs {' and '.join(missing)}: pip install 'apptek[{extra}]'")


def require_matplotlib() -> None:
    """Raise ApptekError with the command that installs Matplotlib, if it is missing."""
    if find_spec("matplotlib") is None:
        raise ApptekError("figures need Matplotlib: pip install 'apptek[figures]'")


def require_pandas() -> None:
    """Raise ApptekError with the command that installs pandas, if it is missing."""
    if find_spec("pandas") is None:
        raise ApptekError("tables of results need pandas: pip install -e '.[dev]' in a checkout")


def require_trees(who: str = "boosted trees need") -> None:
    """Raise ApptekError with the command that installs LightGBM, if it is missing."""
    if find_spec("lightgbm") is None:
        raise ApptekError(f"{who} LightGBM: pip install 'apptek[max]'")


def parse_trees(text: str, whose: str) -> Any:
    """Return LightGBM's booster of a text; ModelError where the text is damaged."""
    require_trees(f"{whose} needs")
    import lightgbm

    try:
        if "\nend of trees\n" not in text:  # LightGBM would crash
            raise ModelError(f"the trees of {whose} are damaged: their end is missing")
        return lightgbm.Booster(model_str=text)
    except lightgbm.basic.LightGBMError as error:
        raise ModelError(f"the trees of {whose} are damaged: {error}") from None


def require_xlsx() -> None:
    """Raise ApptekError with the command that installs XlsxWriter, if it is missing."""
    _require("an .xlsx file", ("xlsxwriter",), "excel")


def require_rdf() -> None:
    """Raise ApptekError with the command that installs pyoxigraph, if it is missing."""
    _require("RDF", ("pyoxigraph",), "rdf")
