"""The group that holds all commands: the order of its help, and what Ctrl-C does."""

from typing import Any

from typer.core import TyperGroup

from apptek.errors import StoppedError

PANELS = ("Start here", "Ask a model", "Make a model", "Data", "Research")
REPEATABLE = ("contest", "reproduce")  # these pick up where they were stopped without --resume


class CommandGroup(TyperGroup):
    """Commands listed by panel; a command that the user stops ends in a StoppedError."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, in the order of PANELS (typer puts sub-groups last)."""
        names = super().list_commands(ctx)
        panels = {name: getattr(self.commands[name], "rich_help_panel", None) for name in names}
        return sorted(names, key=lambda name: PANELS.index(panels[name]))

    def invoke(self, ctx: Any) -> Any:
        """Runs the command."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, SystemError) as error:
            if not _is_interrupt(error):
                raise
            raise StoppedError(self._advice(ctx)) from None

    def _advice(self, ctx: Any) -> str:
        name = ctx.invoked_subcommand or ""
        command = self.commands.get(name)
        if command is not None and any(option.name == "resume" for option in command.params):
            return "stopped; run the same command with --resume to continue"
        if name in REPEATABLE:
            return "stopped; run the same command to continue"
        return "stopped"


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether an error comes from Ctrl-C.

    Inside a compiled function, numba raises a SystemError that has the KeyboardInterrupt as its
    cause or context.
    """
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False
