"""Bring recorded results up to date: python -m tools.rename_results [--views] [FOLDER].

The `command` of a result stays as it was run; `command_now` is added where names have changed
since. Settings that no longer exist go, where they had the value that stayed. A second run changes
nothing more.
"""

import argparse
import json
import re
from pathlib import Path
from typing import Any

# Patterns of single commands, and what takes their place: in this order, each that fits.
COMMANDS = (
    (r"^apptek bench\b", "python -m benchmarks"),
    (r"^(python )?(tests/)?measure_cold_pairs\.py", "python -m benchmarks.cold_pairs"),
    (r"^(python )?(tests/)?torture\.py", "python -m benchmarks.torture"),
    (r"^apptek baseline (\S+) (\S+)(.*) --preset default\b", r"apptek fit \2 --model \1\3"),
    (r"^apptek baseline (\S+) (\S+)(.*) --preset (\S+)", r"apptek fit \2 --model \1:\4\3"),
    (r"^apptek baseline (\S+) (\S+)", r"apptek fit \2 --model \1"),
    (r"^apptek search (\S+) (\S+)(.*) --preset (default|\1)\b", r"apptek search \1 \2\3"),
    (r"^apptek search (\S+) (\S+)(.*) --preset (\S+)", r"apptek search \1:\4 \2\3"),
    (r"^apptek (compare|contest|search|faithfulness)\b", r"apptek research \1"),
    (r"^apptek (topologies|reproduce)\b", r"apptek paper \1"),
    (r"^apptek train-agent\b", "apptek paper train"),
    (r"^apptek rules export (\S+) --out (\S+)", r"apptek info \1 --rules \2"),
    (r"^apptek backtest (\S+)(?! [^-])", r"apptek evaluate \1 --forecasts"),
    (r"^apptek data synth\b", "apptek data make-world"),
    (r" --preset\b", " --model"),
    (r" --split (\d\S*)", r" --read split=\1"),
    (r" --as-of\b", " --past-only"),
    (r" --view ahead\b", " --past-only"),
    (r" --view within\b", ""),
)
RETIRED = {("agent", "reward"): "connection", ("mining", "keep"): "frequent"}
# Keys, and values of `view`; with --views.
VIEWS = {"within": "all_facts", "ahead": "past_only", "as_of": "answered_past_only"}


def renamed(entries: dict[str, Any], *, views: bool = False) -> dict[str, Any]:
    """Return the entries of a result with today's names."""
    entries = json.loads(json.dumps(entries))
    for (section, key), value in RETIRED.items():
        if entries.get("settings", {}).get(section, {}).get(key) == value:
            del entries["settings"][section][key]
    if views:
        entries = _with_views(entries)
    command = entries.get("command") or ""
    now = " && ".join(map(command_now, command.split(" && ")))
    return entries | {"command_now": now} if now != command else entries


def command_now(command: str) -> str:
    """Return a command as it is written today."""
    for pattern, new in COMMANDS:
        command = re.sub(pattern, new, command)
    return command


def _with_views(entry: Any) -> Any:
    if isinstance(entry, list):
        return [_with_views(part) for part in entry]
    if not isinstance(entry, dict):
        return entry
    new = {VIEWS.get(key, key): _with_views(value) for key, value in entry.items()}
    return new | {"view": VIEWS.get(new["view"], new["view"])} if "view" in new else new


def main() -> None:
    """Rewrite the result files that change."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("paper/results"))
    parser.add_argument("--views", action="store_true", help="rename the views, too")
    options = parser.parse_args()
    for path in sorted(options.folder.glob("*.json")):
        entries = json.loads(path.read_text(encoding="utf-8"))
        new = renamed(entries, views=options.views)
        if new != entries:
            text = json.dumps(new, indent=1, sort_keys=True) + "\n"
            path.write_text(text, encoding="utf-8")
            print(path)


if __name__ == "__main__":
    main()
