"""Chat completions as OpenAI defined them and a dozen servers speak them: our request → JSON, their reply → ours.

`encode` writes a request; a `Decoder` turns a whole reply or the chunks of a stream into the same deltas;
`error_from` reads what a server says when it cannot. The quirks of a server are a `Dialect`, never a subclass.
"""

from backstay.wire.openai_chat.dialect import Dialect
from backstay.wire.openai_chat.failures import error_from, error_in_reply
from backstay.wire.openai_chat.reply import Decoder, decode_whole
from backstay.wire.openai_chat.request import encode, encode_messages
from backstay.wire.openai_chat.stream import StreamDecoder

__all__ = [
    "Decoder",
    "Dialect",
    "StreamDecoder",
    "decode_whole",
    "encode",
    "encode_messages",
    "error_from",
    "error_in_reply",
]
