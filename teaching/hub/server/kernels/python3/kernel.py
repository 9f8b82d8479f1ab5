"""Start a learner's kernel: no debugger, and PyTorch there before the first cell asks for it.

JupyterLab starts a kernel when a lesson is opened, and its learner reads a while before running
anything. No lesson uses the debugger, which every kernel would load (8 MB).
"""

import sys


def main():
    """Get ready, import what every lesson imports, and serve."""
    sys.modules["debugpy"] = None  # as if it weren't installed
    from ipykernel.kernelapp import IPKernelApp

    app = IPKernelApp.instance()
    app.initialize()
    from helpers.machine import memory

    with memory.nothing_collected():
        import torch  # noqa: F401

        from helpers import plots  # noqa: F401
    app.start()


if __name__ == "__main__":
    del sys.path[0]  # this folder is nobody's
    main()
