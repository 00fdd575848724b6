"""The command `forecast`."""

from typing import Annotated

import typer

from apptek.commands.options import (
    AllowUnknownOption,
    JsonOption,
    ModelArgument,
    TopOption,
    print_result,
)

FromOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="TIME",
        help="The first time of the window.  [default: the one after the last observed time]",
    ),
]
UntilOption = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="The last time of the window.")
]
DaysOption = Annotated[
    int | None, typer.Option("--days", metavar="N", help="The length of the window in days.")
]
MonthsOption = Annotated[
    int | None, typer.Option("--months", metavar="N", help="The length of the window in months.")
]
YearsOption = Annotated[
    int | None, typer.Option("--years", metavar="N", help="The length of the window in years.")
]
HoursOption = Annotated[
    int | None, typer.Option("--hours", metavar="N", help="The length of the window in hours.")
]
MinutesOption = Annotated[
    int | None, typer.Option("--minutes", metavar="N", help="The length of the window in minutes.")
]
StepsOption = Annotated[
    int | None,
    typer.Option(
        "--steps", metavar="N", help="Its length in steps of the data, such as weeks or numbers."
    ),
]


def forecast(
    model: ModelArgument,
    subject: Annotated[str, typer.Argument(metavar="A", help="One entity.")],
    object_: Annotated[str, typer.Argument(metavar="B", help="The other entity.")],
    start: FromOption = None,
    until: UntilOption = None,
    days: DaysOption = None,
    months: MonthsOption = None,
    years: YearsOption = None,
    hours: HoursOption = None,
    minutes: MinutesOption = None,
    steps: StepsOption = None,
    top: TopOption = 10,
    allow_unknown: AllowUnknownOption = False,
    as_json: JsonOption = False,
) -> None:
    """Forecast what will happen between two entities in a window, and whether anything will.

    Unlike `predict`, which presumes that there is a fact, it says how probable one is. Only facts
    before the window are used, also where later ones are known. Without a length, the window has
    7 days, or a day, an hour or a minute where the facts are of less than two weeks, or one step of
    data that is dated by weeks, months, years or numbers.

    Example: `apptek forecast model Coresia Falgard --days 7`
    """
    from apptek.predictor import Predictor

    predictor = Predictor.load(model, as_of=True)
    made = predictor.forecast(
        subject, object_, start, top=top, allow_unknown=allow_unknown, until=until, days=days,
        months=months, years=years, hours=hours, minutes=minutes, steps=steps,
    )  # fmt: skip
    print_result(made, as_json=as_json)
