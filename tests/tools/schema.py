#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds JSON texts to a schema, as far as ours uses JSON Schema; what the schema does not know of is an error, too.
schema.py SCHEMA FILE…"""

import json
import re
import sys

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}
KNOWN = {"$schema", "$defs", "$ref", "title", "description", "type", "properties", "required", "items", "anyOf", "enum", "const", "pattern"}


def is_a(value, name):
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


def faults(value, schema, root, where="."):
    """What is against the schema, as far as it is known where."""
    unknown = set(schema) - KNOWN
    assert not unknown, f"the schema uses {unknown}, which this program does not know"
    if "$ref" in schema:
        return faults(value, root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root, where)
    found = []
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_a(value, one) for one in types):
        return [f"{where}: {value!r} is no {' or '.join(types)}"]
    if "enum" in schema and value not in schema["enum"] or "const" in schema and value != schema["const"]:
        found.append(f"{where}: {value!r} is not allowed")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        found.append(f"{where}: {value!r} is not like {schema['pattern']}")
    if isinstance(value, dict) and "properties" in schema:
        found += [f"{where}: {key} is not there" for key in schema.get("required", []) if key not in value]
        found += [f"{where}: {key} is not in the schema" for key in value if key not in schema["properties"]]
        for key, one in schema["properties"].items():
            found += faults(value[key], one, root, f"{where}{key}.") if key in value else []
    if isinstance(value, list) and "items" in schema:
        for number, one in enumerate(value):
            found += faults(one, schema["items"], root, f"{where}{number}.")
    if "anyOf" in schema:
        every = [faults(value, one, root, where) for one in schema["anyOf"]]
        found += [] if [] in every else min(every, key=len)
    return found


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    wrong = False
    for name in sys.argv[2:]:
        with open(name, encoding="utf-8") as file:
            for fault in faults(json.load(file), schema, schema):
                print(f"{name}: {fault}")
                wrong = True
    sys.exit(wrong)


if __name__ == "__main__":
    main()
