"""Wires: protocol shapes ↔ our messages, for the client end (models) and the server end (serve).

Pure codecs: bytes and JSON in, our values out, and back. No clock, no network, no third-party package.
"""
