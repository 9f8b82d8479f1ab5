"""A class on one server: what can be tested without the server, and the trial where it can run."""

import re
import shutil
import subprocess
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from stages import ROOT

from notebooks import build
from teaching.hub.link import link, main

HUB = ROOT / "teaching" / "hub"
VALUES = yaml.safe_load((HUB / "values.yaml").read_text("utf-8"))


def test_a_link_opens_the_lesson_in_the_learners_branch(capsys):
    made = link("https://hub.example.org/", "https://github.com/me/course.git", "04_x")
    asked = parse_qs(urlsplit(made).query)
    assert made.startswith("https://hub.example.org/hub/user-redirect/git-pull?")
    assert asked["repo"] == ["https://github.com/me/course.git"]
    assert asked["branch"] == ["learners"]
    assert asked["urlpath"] == ["lab/tree/course/04_x.ipynb"]
    main(["https://hub.example.org", "04", "--repository", "file:///lessons"])
    assert "04_self_attention_matrices.ipynb" in capsys.readouterr().out


@pytest.mark.skipif(build.is_published(), reason="this copy has an address")
def test_a_link_to_nowhere_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["https://hub.example.org", "04"])
    assert "Publishing a copy" in capsys.readouterr().err


def test_the_image_takes_folders_that_exist_and_leaves_the_maintainers_part_out():
    text = (HUB / "Dockerfile").read_text(encoding="utf-8")
    sources = [
        word for line in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE) for word in line.split()
    ]
    assert {"helpers", "notebooks", "teaching"} <= set(sources)
    for source in sources:
        assert (ROOT / source).exists(), source
    assert "tests/requirements.txt" not in text


def test_both_ways_to_run_it_agree_with_each_other():
    view, service = yaml.safe_load_all((HUB / "class_view.yaml").read_text("utf-8"))
    config = (HUB / "course_config.py").read_text("utf-8")
    single = VALUES["singleuser"]
    assert f'mem_limit = "{single["memory"]["limit"]}"' in config
    assert f"cpu_limit = {single['cpu']['limit']}" in config
    for name in ("OMP_NUM_THREADS", "MALLOC_ARENA_MAX", "NBFORMAT_VALIDATOR"):
        assert f'"{name}": "{single["extraEnv"][name]}"' in config, name
    folder = single["extraEnv"]["JUPYTER_CONFIG_PATH"].removeprefix("/srv/course/")
    assert (ROOT / folder / "jupyter_server_config.json").exists()
    port = service["spec"]["ports"][0]["port"]
    assert VALUES["hub"]["services"]["class-view"]["url"] == f"http://class-view:{port}"
    sent_to = single["extraEnv"]["COURSE_CLASS_VIEW"]
    assert sent_to == f"http://class-view:{port}/services/class-view"
    image = view["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image == f"{single['image']['name']}:{single['image']['tag']}"


def test_the_class_view_has_no_right_to_look_into_a_learners_server():
    config = (HUB / "course_config.py").read_text("utf-8")
    assert VALUES["hub"]["loadRoles"]["class-view"]["scopes"] == []
    assert "access:servers" not in config
    assert '"user": "nobody"' in config


def test_a_learners_pod_reaches_neither_the_providers_keys_nor_its_neighbours():
    single = VALUES["singleuser"]
    assert single["cloudMetadata"]["blockWithIptables"] is True
    rules = single["networkPolicy"]["egressAllowRules"]
    assert not any(rules[name] for name in ("cloudMetadataServer", "nonPrivateIPs", "privateIPs"))
    (web,) = (rule for rule in single["networkPolicy"]["egress"] if "ports" in rule)
    assert "169.254.169.254/32" in web["to"][0]["ipBlock"]["except"]


def environment_with_a_hub():
    """Find the Python of `make class-test`, and its proxy."""
    python = ROOT / ".venv-hub" / "bin" / "python"
    local = ROOT / ".venv-hub" / "node_modules" / ".bin" / "configurable-http-proxy"
    proxy = local if local.exists() else shutil.which("configurable-http-proxy")
    return (python, proxy) if python.exists() and proxy else None


@pytest.mark.slow
@pytest.mark.skipif(
    environment_with_a_hub() is None, reason="no hub here: make class-test makes one"
)
def test_two_learners_play_the_class():
    python, proxy = environment_with_a_hub()
    command = [python, "-m", "teaching.hub.trial", "--learners=2", f"--proxy={proxy}"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=ROOT)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "everybody is right, with every answer" in done.stdout


def test_no_secret_name_or_work_is_published_or_copied_into_an_image():
    ignored = (ROOT / ".gitignore").read_text("utf-8").split()
    kept_out = (HUB / "Dockerfile.dockerignore").read_text("utf-8").split()
    for name in (".env", "people.txt", "backup", "handed_in"):
        assert {name, f"/{name}/"} & set(ignored), name
        assert {name, f"**/{name}"} & set(kept_out), name
