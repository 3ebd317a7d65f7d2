"""The System One API as the boundary must know it: its routes, and the bodies that are made here. Pure."""

from __future__ import annotations

from arci.wire.quickjson import dumps

__all__ = ["ROUTES", "error", "models"]

ROUTES = {("POST", "/v1/systemone"): "decide", ("GET", "/v1/models"): "models"}
_TYPES = {
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    411: "length_required",
    413: "request_too_large",
    417: "expectation_failed",
    422: "validation_error",
    529: "overloaded",
}


def error(status: int, message: str) -> bytes:
    return dumps({"detail": {"error_type": _TYPES.get(status, "internal_error"), "message": message}}).encode()


def models(model: str) -> bytes:
    """The list where one is pinned."""
    return dumps({"models": [{"name": model, "description": model, "release_date": "2023-11-14T22:13:20Z"}]}).encode()
