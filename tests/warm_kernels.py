"""Kernels that start in no time: forked from a process that has the large libraries imported.

Some ninety tests start a kernel, and each would import PyTorch and matplotlib anew, for three
seconds. Nothing of the course is imported here, so a lesson still imports ``helpers`` itself.

A kernel specification, found before the installed one, names this file as the kernel's program.
Run so, it asks the waiting process for a fork, hands Ctrl-C on to it and lives as long as it does.
"""

import contextlib
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

# What the set-up cell and most lessons import, and the kernel itself.
LIBRARIES = [
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "IPython.core.completer",
    "anywidget",
    "ipywidgets",
    "matplotlib.pyplot",
    "matplotlib.backends.backend_agg",
    "torch",
    "torch.nn.functional",
    "torch._dynamo",  # imported with the first optimiser, for a second
    "safetensors.torch",
    "transformers.models.bert.modeling_bert",  # which two lessons compare with, and GPT-2's
    "transformers.models.gpt2.modeling_gpt2",
]
INLINE = "module://matplotlib_inline.backend_inline"  # a kernel's own choice where none was made


@contextlib.contextmanager
def ready(env):
    """Start the process that waits; give the environment in which front ends find it."""
    if sys.platform != "linux":  # elsewhere a fork isn't safe once threads or frameworks are loaded
        yield env
        return
    with tempfile.TemporaryDirectory(prefix="warm-kernels-") as folder:
        address = f"{folder}/socket"
        spec = {
            "argv": [sys.executable, "-S", __file__, address, "{connection_file}"],
            "display_name": "Python 3 (ipykernel)",
            "language": "python",
        }
        path = Path(folder, "kernels", "python3", "kernel.json")
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(spec), encoding="utf-8")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(address)  # who asks while the libraries are imported waits for the answer
            listener.listen(64)
            number = listener.fileno()
            waiting = subprocess.Popen(
                [sys.executable, __file__, str(number)],
                env=env | {"MPLBACKEND": INLINE},  # read when matplotlib is imported
                stdin=subprocess.PIPE,
                pass_fds=[number],
            )
        with waiting:  # at the end its standard input closes, and it ends
            yield env | {"JUPYTER_PATH": folder}


def wait(number):
    """Fork a kernel for everyone who asks, until standard input closes."""
    with socket.socket(fileno=int(number)) as listener:
        gc.disable()
        os.environ.setdefault("HF_HUB_OFFLINE", "1")  # as conftest.py has it, read when imported
        for library in LIBRARIES:
            __import__(library)
        gc.freeze()  # no kernel looks for garbage in what it inherits, and so copies none of it
        gc.enable()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a kernel ended
        while True:
            readable, _, _ = select.select([listener, sys.stdin], [], [])
            if sys.stdin in readable:
                return
            asking, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                be_a_kernel(asking)
            asking.close()


def be_a_kernel(asking):
    """Turn this fork into the kernel that is asked for."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    wish = json.loads(asking.makefile().readline())
    os.setsid()
    os.chdir(wish["folder"])
    os.environ.clear()
    os.environ.update(wish["env"], MPLBACKEND=INLINE)
    places = wish["env"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [place for place in places if place] + sys.path[1:]
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    asking.sendall(f"{os.getpid()}\n".encode())
    threading.Thread(target=end_with, args=[asking], daemon=True).start()
    sys.argv = ["ipykernel_launcher", "-f", *wish["arguments"]]
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance()
    os._exit(0)


def end_with(asking):
    """End this process as soon as the one that asked for it has ended."""
    asking.recv(1)
    os._exit(1)


def ask(address, *arguments):
    """Be what the front end takes for the kernel: live as long as it, and hand Ctrl-C on."""
    front_end = os.getppid()
    with socket.socket(socket.AF_UNIX) as kernel:
        kernel.connect(address)
        wish = {"folder": os.getcwd(), "env": dict(os.environ), "arguments": arguments}
        kernel.sendall(json.dumps(wish).encode() + b"\n")
        number = int(kernel.makefile().readline())
        signal.signal(signal.SIGINT, lambda *_: os.kill(number, signal.SIGINT))
        ended = False
        while not ended and os.getppid() == front_end:  # without a front end nobody would end it
            ended, _, _ = select.select([kernel], [], [], 1)


if __name__ == "__main__":
    wait(*sys.argv[1:]) if len(sys.argv) == 2 else ask(*sys.argv[1:])
