"""Small .xlsx files for tests."""

from datetime import date, datetime
from pathlib import Path

import xlsxwriter

Cell = str | int | float | date | datetime | None


class Formula(str):
    """A formula with its stored text: Formula('A1&"x"|stored')."""


def write_sheets(path: Path, sheets: dict[str, list[list[Cell]]]) -> Path:
    """A workbook with these sheets."""
    with xlsxwriter.Workbook(path) as book:
        day, moment = (book.add_format({"num_format": form}) for form in ("d/m/yy", "d/m/yy h:mm"))
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                for column, cell in enumerate(row):
                    if isinstance(cell, Formula):
                        formula, _, stored = cell.partition("|")
                        sheet.write_formula(number, column, formula, None, stored)
                    elif isinstance(cell, date):
                        form = moment if isinstance(cell, datetime) else day
                        sheet.write_datetime(number, column, cell, form)
                    else:
                        sheet.write(number, column, cell)
    return path
