"""The part of SARIF 2.1.0 that the linter writes, as a JSON schema of our own.

Names, required properties, types and bounds are the standard's (OASIS, section numbers beside each object);
every object is closed, so that a property that the standard does not know is an error.
"""

from __future__ import annotations

from typing import Any


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _list(items: dict[str, Any], **bounds: int) -> dict[str, Any]:
    return {"type": "array", "items": items, **bounds}


_TEXT = {"type": "string"}
_URI = {"type": "string", "format": "uri"}
_RELATIVE = {"type": "string", "format": "uri-reference", "pattern": r"^[^\s\\]*$"}
_FROM_ONE = {"type": "integer", "minimum": 1}
_MESSAGE = _object({"text": _TEXT}, "text")  # 3.11
_REGION = _object(  # 3.30
    dict.fromkeys(("startLine", "startColumn", "endLine", "endColumn"), _FROM_ONE), "startLine"
)
_ARTIFACT = _object({"uri": _RELATIVE}, "uri")  # 3.4
_LOCATION = _object(  # 3.28, 3.29
    {"physicalLocation": _object({"artifactLocation": _ARTIFACT, "region": _REGION}, "artifactLocation")}
)
_RULE = _object(  # 3.49
    {
        "id": _TEXT,
        "name": _TEXT,
        "shortDescription": _MESSAGE,
        "fullDescription": _MESSAGE,
        "help": _MESSAGE,
        "helpUri": _URI,
    },
    "id",
)
_FLOW = _object(  # 3.36, 3.37, 3.38
    {
        "threadFlows": _list(
            _object({"locations": _list(_object({"location": _LOCATION}), minItems=1)}, "locations"),
            minItems=1,
        )
    },
    "threadFlows",
)
_FIX = _object(  # 3.55, 3.56, 3.57
    {
        "description": _MESSAGE,
        "artifactChanges": _list(
            _object(
                {
                    "artifactLocation": _ARTIFACT,
                    "replacements": _list(
                        _object({"deletedRegion": _REGION, "insertedContent": _MESSAGE}, "deletedRegion"),
                        minItems=1,
                    ),
                },
                "artifactLocation",
                "replacements",
            ),
            minItems=1,
        ),
    },
    "artifactChanges",
)
_RESULT = _object(  # 3.27
    {
        "ruleId": _TEXT,
        "ruleIndex": {"type": "integer", "minimum": -1},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": _MESSAGE,
        "locations": _list(_LOCATION),
        "codeFlows": _list(_FLOW),
        "fixes": _list(_FIX, minItems=1),
        "partialFingerprints": {"type": "object", "additionalProperties": _TEXT},
    },
    "message",
)
_RUN = _object(  # 3.14
    {
        "tool": _object(
            {
                "driver": _object(  # 3.19
                    {
                        "name": _TEXT,
                        "version": _TEXT,
                        "informationUri": _URI,
                        "rules": _list(_RULE),
                    },
                    "name",
                )
            },
            "driver",
        ),
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
        "results": _list(_RESULT),
    },
    "tool",
)
SCHEMA = _object(  # 3.13
    {"$schema": _URI, "version": {"const": "2.1.0"}, "runs": _list(_RUN)}, "version", "runs"
)
