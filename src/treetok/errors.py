"""The one family of exceptions that is raised on purpose."""


class TreetokError(Exception):
    """Something the caller can mend: the message is one line and names what is at fault."""


class TreetokWarning(UserWarning):
    """Something worth knowing that did not stop the work."""
