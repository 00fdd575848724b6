"""Ctrl-C: one line that says how to go on, whatever the command was doing."""

from typing import Any

from typer.core import TyperGroup

from apptek.errors import StoppedError

REPEATABLE = ("contest", "reproduce")  # these go on by themselves where they were stopped


class Stoppable(TyperGroup):
    """Commands that end in a StoppedError where the user stops them."""

    def invoke(self, ctx: Any) -> Any:
        """Runs the command."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, SystemError) as error:
            if not _by_the_user(error):
                raise
            raise StoppedError(self._advice(ctx)) from None

    def _advice(self, ctx: Any) -> str:
        name = ctx.invoked_subcommand or ""
        command = self.commands.get(name)
        if command is not None and any(option.name == "resume" for option in command.params):
            return "stopped; the same command with --resume goes on"
        if name in REPEATABLE:
            return "stopped; the same command goes on"
        return "stopped"


def _by_the_user(error: BaseException | None) -> bool:
    """Whether it was Ctrl-C: inside a compiled function it comes as the cause of another error."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False
