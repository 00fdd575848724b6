"""The generated docs of the service: every route, tool, argument and field.

They come from the golden descriptions, which the tests compare with a running service. Fields are
described by the service or by `field_words.toml`; a field without a description is an error.
"""

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
JSON = "application/json"
TITLE = """# Every route and field of HTTP

`make docs` builds this page from the OpenAPI description that a service publishes at
`/api/openapi.json`. [http.md](http.md) explains the routes with examples. Objects that are also
results of the library are described in [results-fields.md](results-fields.md).
"""
Schema = dict[str, Any]


def http_fields_page() -> str:
    """Return every route with its parameters, body and response, then the fields of each object."""
    described = _golden("openapi.json")
    parts = [TITLE, "## Routes"]
    for path, methods in described["paths"].items():
        for method, route in methods.items():
            parts += [f"### {method.upper()} {path}", _sentences(route["description"])]
            if "requestBody" in route:
                parts.append(f"Takes {_type(route['requestBody']['content'][JSON]['schema'])}.")
            answer = route["responses"]["200"]["content"][JSON]["schema"]
            parts.append(f"Returns {_type(answer)}.")
            if fields := {each["name"]: each for each in route.get("parameters", [])}:
                parts.append(_table("parameter", fields))
    parts.append("## Objects")
    for name, schema in described["components"]["schemas"].items():
        if _page(name) == "http-fields.md" and "properties" in schema:
            about = _sentences(schema.get("description", ""))
            parts += [f"### {name}", about, _table("field", schema["properties"], name)]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def tools_and_arguments() -> str:
    """Return every assistant tool with its description and arguments."""
    parts = []
    for tool in _golden("mcp_tools.json"):
        parts += [f"### {tool['name']}", _sentences(tool["description"])]
        parts.append(_table("argument", tool["input_schema"]["properties"]))
    return "\n\n".join(parts)


def _golden(name: str) -> Any:
    return json.loads((ROOT / "tests" / "golden" / name).read_text("utf-8"))


@cache
def _words() -> dict[str, str]:
    return tomllib.loads(Path(__file__).with_name("field_words.toml").read_text("utf-8"))


def _table(head: str, fields: dict[str, Schema], owner: str = "") -> str:
    rows = [f"| {head} | type | description |", "| --- | --- | --- |"]
    for name, about in fields.items():
        schema = about.get("schema", about)
        text = about.get("description") or schema.get("description")
        if not text and f"{owner}.{name}" not in _words() and name not in _words():
            raise SystemExit(f"tools/field_words.toml does not say what {owner}.{name} is")
        text = text or _words().get(f"{owner}.{name}") or _words()[name]
        if schema.get("default") not in (None, "", [], {}, False):
            text = f"{text} Default: `{json.dumps(schema['default'])}`."
        rows.append(f"| `{name}` | {_type(schema)} | {_sentences(text)} |")
    return "\n".join(rows)


def _type(schema: Schema) -> str:
    """Describe a JSON schema's type; an object that is described elsewhere becomes a link."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}]({_page(name)}#{name.lower()})"
    if "enum" in schema or "const" in schema:
        return " or ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(map(_type, schema[key])))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items') or schema['prefixItems'][0])}"
    words = {"string": "text", "boolean": "true or false"}
    kind = str(schema.get("type", "any value"))
    return words.get(kind, kind)


@cache
def _page(name: str) -> str:
    of_library = (ROOT / "docs" / "results-fields.md").read_text("utf-8")
    return "results-fields.md" if f"\n## {name}\n" in of_library else "http-fields.md"


def _sentences(text: str) -> str:
    return " ".join(text.split())
