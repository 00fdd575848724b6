"""Formats of files other than plain text: tables, sheets, dumps of event data, files of ids."""
