"""The command `forecast`."""

from typing import Annotated

from apptek.commands.options import (
    AllowUnknownOption,
    JsonOption,
    ModelArgument,
    TopOption,
    WindowOptions,
    argument,
    print_result,
    takes_window,
)


@takes_window
def forecast(
    model: ModelArgument,
    subject: Annotated[str, argument("A", "One entity.")],
    object_: Annotated[str, argument("B", "The other entity.")],
    top: TopOption = 10,
    allow_unknown: AllowUnknownOption = False,
    as_json: JsonOption = False,
    *,
    window: WindowOptions,
) -> None:
    """Forecast whether an event will happen between two entities, and of what kind.

    `predict` assumes that an event happens; `forecast` estimates how likely one is. It uses only
    facts before the window, even if later ones are known. By default the window has 7 days; where
    the facts cover less than two weeks, a day, an hour or a minute; and one step of data that is
    dated by weeks, months, years or numbers.

    Example: `apptek forecast model Coresia Falgard --days 7`
    """
    from apptek.predictor import Predictor

    predictor = Predictor.load(model, past_only=True)
    made = predictor.forecast(
        subject, object_, top=top, allow_unknown=allow_unknown, **window.keywords()
    )
    print_result(made, as_json=as_json)
