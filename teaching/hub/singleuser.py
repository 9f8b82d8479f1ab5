"""Start a learner's server without what only the hub itself needs.

JupyterHub's part in a learner's server imports the whole hub, with its database. Others import what
checks foreign web addresses or colours a terminal. No learner's server calls any of it, and it
costs 50 MB and a second of work per learner. Here it is left out: `EMPTY` are imported in vain, so
whoever asks for them gets modules whose names are all empty classes. `ABSENT` are imported only
where they're installed, so here they aren't.
"""

import importlib.abc
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

EMPTY = ("jupyterhub.handlers", "jupyterhub.orm", "sqlalchemy")
ABSENT = ("IPython", "isoduration", "rfc3987_syntax", "rich")


class Empty(ModuleType):
    """A module in which every name is a class that does nothing, good to catch or inherit from."""

    def __getattr__(self, name):
        """Make the class."""
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (Exception,), {})
        setattr(self, name, made)
        return made


class LeaveOut(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """What Python asks first when something is imported."""

    def find_spec(self, name, path=None, target=None):
        """Answer for what is left out, and for nothing else."""
        if name in ABSENT:
            raise ModuleNotFoundError(f"{name} isn't for a learner's server", name=name)
        if name.startswith(EMPTY):
            return ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        """Make an empty module."""
        return Empty(spec.name)

    def exec_module(self, module):
        """Run nothing."""


if __name__ == "__main__":
    sys.meta_path.insert(0, LeaveOut())
    from jupyterhub.singleuser import main

    sys.exit(main())
