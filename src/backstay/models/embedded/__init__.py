"""The embedded model: real inference on the processor from installable packages. Extra: `backstay[embedded]`."""

from backstay.models.embedded.encoder import SentenceEncoder, shared_encoder
from backstay.models.embedded.model import EmbeddedModel
from backstay.models.embedded.router import Route, ToolRouter
from backstay.models.embedded.weights import ls, pull

__all__ = ["EmbeddedModel", "Route", "SentenceEncoder", "ToolRouter", "ls", "pull", "shared_encoder"]
