"""A forked kernel is a kernel like any other, but for what is imported already."""

import os
import sys

import psutil
import pytest
import warm_kernels
from jupyter_client.manager import start_new_kernel

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux only"),
]

KNOWN = """
import sys
print([name in sys.modules for name in ("torch", "matplotlib.pyplot", "helpers")])
print(sys.path[0] == "here", os.getcwd() if "os" in globals() else "no name is left over")
"""
PLOT = "import matplotlib.pyplot as plt\n_ = plt.plot([1, 2])"


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("where the notebook is")
    with warm_kernels.ready({**os.environ, "PYTHONPATH": "here"}) as env:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("JUPYTER_PATH", env["JUPYTER_PATH"])
            manager, client = start_new_kernel(env=env, cwd=str(folder))
        yield manager, client, folder
        client.stop_channels()
        if manager.is_alive():
            manager.shutdown_kernel()


def run(client, code):
    """Run a cell and return what it says."""
    said = []
    reply = client.execute_interactive(code, timeout=30, output_hook=said.append)
    assert reply["content"]["status"] == "ok"
    return [message["content"] for message in said]


def test_libraries_are_there_and_the_course_is_not(kernel):
    said = run(kernel[1], KNOWN)
    text = "".join(content.get("text", "") for content in said).splitlines()
    assert text == ["[True, True, False]", "True no name is left over"]


def test_it_works_in_its_notebook_s_folder_and_draws_into_the_cell(kernel):
    said = run(kernel[1], "import os\nprint(os.getcwd())")
    assert any(content.get("text", "").strip() == str(kernel[2]) for content in said)
    said = run(kernel[1], PLOT)
    assert any("image/png" in content.get("data", {}) for content in said)


def test_the_stop_button_stops_it(kernel):
    manager, client, _ = kernel
    # After an error a kernel turns away what comes within a tenth of a second, unless told not to.
    client.execute("import time\nprint('begun', flush=True)\ntime.sleep(60)", stop_on_error=False)
    while client.get_iopub_msg(timeout=30)["content"].get("text") != "begun\n":
        pass
    manager.interrupt_kernel()
    assert client.get_shell_msg(timeout=30)["content"]["ename"] == "KeyboardInterrupt"


def test_it_ends_when_its_front_end_lets_go(kernel):
    manager, client, _ = kernel
    said = run(client, "import os\nprint(os.getpid())")
    number = next(int(content["text"]) for content in said if "text" in content)
    forked = psutil.Process(number)
    manager.shutdown_kernel(now=True)
    gone, _ = psutil.wait_procs([forked], timeout=30)
    assert gone == [forked]
