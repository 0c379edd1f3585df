"""Pure: errors as Kafka Connect's REST API answers them."""

from __future__ import annotations

from ottla.connect.errors import ConnectError


class RestError(ConnectError):
    """An answer that is an error: a status, and a sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    def body(self) -> dict[str, object]:
        """Return the answer."""
        return {"error_code": self.status, "message": str(self)}


def not_found(name: str) -> RestError:
    """Return the answer about a connector that there is not."""
    return RestError(404, f"Connector {name} not found")


def invalid(problems: dict[str, list[str]]) -> RestError:
    """Return the answer about a configuration that is wrong."""
    texts = [text for found in problems.values() for text in found]
    shown = "\n".join(texts)
    return RestError(
        400,
        f"Connector configuration is invalid and contains the following {len(texts)} error(s):\n{shown}\n"
        "You can also find the above list of errors at the endpoint"
        " `/connector-plugins/{connectorType}/config/validate`",
    )
