"""Fingerprints: one SHA-256 by which contents are known again."""

import hashlib


def fingerprint(content: str | bytes) -> str:
    """Compute the SHA-256 of bytes, or of a text's UTF-8 bytes.

    It has 64 hexadecimal digits, the same that the command ``sha256sum`` prints.
    """
    if isinstance(content, str):
        content = content.encode("utf-8")
    return hashlib.sha256(content).hexdigest()
