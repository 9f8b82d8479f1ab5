"""Fingerprints: one SHA-256 by which contents are known again."""

import hashlib


def fingerprint(content):
    """Compute the SHA-256 of a text or of bytes.

    Parameters
    ----------
    content : str or bytes
        A text counts as its UTF-8 bytes.

    Returns
    -------
    fingerprint : str
        64 hexadecimal digits, the same that the command ``sha256sum`` prints.
    """
    if isinstance(content, str):
        content = content.encode("utf-8")
    return hashlib.sha256(content).hexdigest()
