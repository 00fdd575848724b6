"""The option --engine, with which commands work on many queries elsewhere."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

from apptek.commands.options import option

EngineOption = Annotated[
    Literal["threads", "processes", "ray"],
    option(
        "--engine",
        "Where to work on many queries: threads, processes, or ray (the Ray cluster at "
        "`RAY_ADDRESS`, or one on this machine). The results are the same.",
        "NAME",
    ),
]


def with_engine(command: Callable[..., None]) -> Callable[..., None]:
    """Add the option --engine to a command."""
    signature = inspect.signature(command, eval_str=True)
    keyword = {"default": "threads", "annotation": EngineOption}
    added = inspect.Parameter("engine", inspect.Parameter.KEYWORD_ONLY, **keyword)

    @wraps(command)
    def run(*args: Any, engine: Any, **named: Any) -> None:
        if engine == "threads":
            command(*args, **named)
            return
        from apptek.engine import use_engine

        outputs = named.get("out")
        places = [*(outputs if isinstance(outputs, list) else [outputs]), named.get("model")]
        with use_engine(engine, next((p for p in places if isinstance(p, Path)), Path("audit"))):
            command(*args, **named)

    # typer builds the command line from the signature.
    parameters = [*signature.parameters.values(), added]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run
