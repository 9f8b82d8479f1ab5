"""The clinic names what is ill and where, leaves the healthy alone, and gives every model back."""

import copy
import functools
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import healthy
import pytest
import torch
import unseen_patients as unseen
from samples import once_a_week, refuses
from torch import nn

from helpers import clinic
from helpers.clinic import examine
from helpers.models import patients, ward

pytestmark = pytest.mark.slow  # nothing here is quick, alone or with its variants

EVERYBODY = [
    *((patients, patient) for patient in patients.PATIENTS.values()),
    *((unseen, patient) for patient in unseen.PATIENTS.values()),
]
SMALL = 2.0  # seconds of one quiet core for a small model, counted as processor time


@functools.cache
def said_of(house, name):
    model, options = house.admit(name)
    return examine(model, **options)


@pytest.mark.parametrize(("house", "patient"), EVERYBODY, ids=[p.name for _, p in EVERYBODY])
def test_a_bug_is_named_first_and_its_place_is_right(house, patient):
    first = said_of(house, patient.name).findings[0]
    assert first.name == patient.finding
    edited = {line.strip() for _, new in patient.edits for line in new.splitlines()}
    assert first.where == patient.where or any(line and line in first.line for line in edited)
    assert first.what
    assert first.evidence
    assert first.likely


def test_the_way_to_the_line_is_quoted():
    """The edited line stands in the report for most: as the line, on the way to it, as a cause."""
    quoted = 0
    for house, patient in EVERYBODY:
        healthy_text = house.WARD if house is unseen else house.WARD.read_text(encoding="utf-8")
        text = patients.source_of(patient, healthy_text)
        changed = {line.strip() for line in text.splitlines()}
        changed -= {line.strip() for line in healthy_text.splitlines()}
        first = said_of(house, patient.name).findings[0]
        told = " ".join([first.line, *first.trail, *first.likely])
        quoted += any(line in told for line in changed)
    assert quoted >= 15


def test_at_least_24_reports_and_every_name_is_known():
    assert len(EVERYBODY) >= 24
    assert len({patient.report for _, patient in EVERYBODY}) == len(EVERYBODY)
    assert {patient.finding for _, patient in EVERYBODY} | {"past ignored"} == set(clinic.FINDINGS)


def healthy_models():
    for name, kind in patients.KINDS.items():
        options = {"kind": kind, **healthy.TEXT}
        yield name, lambda name=name, options=options: (getattr(ward, name)(), options)
    for name, kind in unseen.KINDS.items():
        options = {"kind": kind, "vocab_size": 61, "pad_id": 1, "max_len": 40}
        yield name, lambda name=name, options=options: (
            patients.run_source(unseen.WARD, "unseen_ward.py")[name](), options)  # fmt: skip
    for norm_first in (False, True):
        for batch_first in (False, True):
            options = {"kind": "encoder-decoder", "batch_first": batch_first, **healthy.TEXT}
            yield f"nn.Transformer {norm_first} {batch_first}", lambda n=norm_first, o=options: (
                healthy.PyTorchTranslator(n, o["batch_first"]), o)  # fmt: skip
    for part, options in healthy.UNUSUAL.items():
        yield part, lambda part=part, options=options: (
            healthy.Unusual(part), {"kind": "decoder", **options, **healthy.TEXT})  # fmt: skip
    for name in healthy.HUGGING_FACE:
        yield name, lambda name=name: healthy.hugging_face(name)


RIGHT = dict(healthy_models())


# Of each kind and each maker one; the others, once a week, are there against false alarms.
OFTEN = ("Reader", "TinyGPT", "nn.Transformer False True", "alibi", "window", "BART")


@pytest.mark.parametrize("name", once_a_week(RIGHT, OFTEN))
def test_nothing_is_found_in_a_right_model(name):
    model, options = RIGHT[name]()
    assert examine(model, **options).findings == []


def shaken(model, seed=1):
    """Make weights that look trained: no gain is 1 any more, no bias 0."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1 + 0.3 * torch.randn_like(parameter))
            parameter.add_(0.05 * torch.randn_like(parameter))
    return model


LEARNED = ["Writer", "TinyBert", "GPT-2", "T5", "BART", "ViT", "alibi"]


@pytest.mark.parametrize("name", once_a_week(LEARNED, ["Writer", "T5"]))
def test_nothing_is_found_in_a_right_model_that_has_learned(name):
    model, options = RIGHT[name]()
    assert examine(shaken(model), **options).findings == []


def test_a_position_table_that_starts_at_zero_is_no_fault():
    model = ward.Reader()
    torch.nn.init.zeros_(model.embedding.positions)
    assert examine(model, "encoder", **healthy.TEXT).healthy
    assert not model.embedding.positions.any()


def test_designs_that_are_right_only_if_asked_for_are_found_otherwise():
    expected = {"window": "past ignored", "prefix": "sees the future", "shared": "layers shared",
                "no positions": "order unseen"}  # fmt: skip
    for part, finding in expected.items():
        report = examine(healthy.Unusual(part), "decoder", **healthy.TEXT)
        assert [f.name for f in report.findings] == [finding]


# ---- one layer of attention


def changed(old, new):
    """Run the healthy ward's source with one place changed; give its names."""
    text = patients.WARD.read_text(encoding="utf-8")
    assert text.count(old) == 1
    return patients.run_source(text.replace(old, new), f"changed_{len(new)}.py")


def pytorch_attention(layer, query, key, value, mask):
    return layer(query, key, value, attn_mask=mask)[0]


def test_attention_layers_are_examined_by_themselves():
    sizes = {"kind": "attention", "d_model": 32, "n_heads": 4}
    assert examine(ward.Attention(32, 4, 0.1), **sizes).healthy
    layer = nn.MultiheadAttention(32, 4, batch_first=True)
    assert examine(layer, call=pytorch_attention, mask_means="may not look", **sizes).healthy
    (finding,) = examine(layer, call=pytorch_attention, **sizes).findings
    assert finding.name == "mask inverted"


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ("x.transpose(1, 2).reshape", "x.reshape", "heads scrambled"),
        ("~mask", "mask", "mask inverted"),
        ("if mask is not None", "if False", "sees the future"),
        ("dim=-1)", "dim=-2)", "softmax over queries"),
        ("        scores = scores / math.sqrt(q.shape[-1])\n", "", "not scaled"),
        ("self.split(self.w_key(key))", "self.split(self.w_key(key)).detach()", "no gradient"),
        ("dim=-1)", "dim=0)", "sentences mixed"),
    ],
)
def test_an_attention_layer_with_a_mistake(old, new, finding):
    layer = changed(old, new)["Attention"](32, 4, 0.1)
    report = examine(layer, "attention", d_model=32, n_heads=4)
    assert report.findings[0].name == finding


# ---- mistakes that no patient has


@pytest.mark.parametrize(
    ("model", "kind", "old", "new", "finding", "line"),
    [
        ("Reader", "encoder", "k.transpose(-2, -1)", "k.reshape(*k.shape[:2], -1, k.shape[2])",
         "heads scrambled", "scores = q @"),
        ("Writer", "decoder", 'float("-inf")', "-1e-9", "sees the future", "masked_fill"),
        ("Writer", "decoder", "math.sqrt(q.shape[-1])", "q.shape[-1]", "not scaled", "scores /"),
        ("Writer", "decoder", "math.sqrt(q.shape[-1])", "math.sqrt(q.shape[2])", "not scaled",
         "scores /"),
        ("Writer", "decoder", "        return logits\n", "        return logits.softmax(1)\n",
         "sees the future", "softmax(1)"),
        ("Writer", "decoder", "        return x + self.positions[: x.shape[1]]\n",
         "        x = x + self.positions[: x.shape[1]]\n"
         "        return x / x.norm(dim=(1, 2), keepdim=True)\n",
         "norm over the wrong axis", "x.norm("),
    ],
)  # fmt: skip
def test_a_mistake_that_no_patient_has(model, kind, old, new, finding, line):
    ill = changed(old, new)[model]()
    first = examine(ill, kind, **healthy.TEXT).findings[0]
    assert first.name == finding
    assert line in first.line


@pytest.mark.parametrize("keys", ["(x, x, mask)", "(0 * memory, 0 * memory, memory_mask)"])
def test_one_layer_of_two_that_is_given_the_source_and_does_not_read_it(keys):
    new = f"(x, *({keys} if self.deaf else (memory, memory, memory_mask)))"
    names = changed("(x, memory, memory, memory_mask)", new)
    names["Layer"].deaf = False
    model = names["Translator"]()
    model.layers[1].deaf = True
    (finding,) = examine(model, "encoder-decoder", **healthy.TEXT).findings
    assert (finding.name, finding.where) == ("source ignored", "layers.1.cross_attention")


def test_a_norm_that_hardly_normalises_is_told():
    model = ward.Writer()
    model.layers[0].norm_1.eps = 100.0
    assert "norm_1: eps=100" in examine(model, "decoder", **healthy.TEXT).undecided[0]


class Scored(ward.Writer):
    """A decoder that works out its own loss, as nanoGPT does, or is shown what it's asked for."""

    shown = False

    def forward(self, ids, targets=None):
        logits = super().forward(ids)
        if targets is None:
            return logits
        if self.shown:
            logits = logits + 3 * nn.functional.one_hot(targets, logits.shape[-1])
            return logits, -logits.log_softmax(-1).gather(-1, targets[..., None]).mean()
        return logits, nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


@pytest.mark.parametrize(
    ("first", "last", "shown", "found"),
    [(0, 1, False, False), (0, 0, False, True), (1, 0, False, True), (0, 2, False, True),
     (0, 1, True, True)],
)  # fmt: skip
def test_targets_of_a_loss_inside_the_model(first, last, shown, found):
    """`first` and `last` say how far the inputs and the targets are moved on."""
    model = Scored()
    model.shown = shown

    def loss(model, ids):
        n = ids.shape[1] - max(first, last)
        return model(ids[:, first : first + n], ids[:, last : last + n])[1]

    before = copy.deepcopy(model.state_dict())
    names = [f.name for f in examine(model, "decoder", loss=loss, **healthy.TEXT).findings]
    assert names == ["targets not shifted"] * found
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


class OnePiece(nn.Module):
    """A decoder whose attention is no module: rotated, in two layers, or blind to order."""

    def __init__(self, rotates):
        super().__init__()
        self.table, self.rotates = nn.Parameter(torch.randn(50, 16)), rotates
        self.w = nn.Parameter(torch.randn(4, 16, 16) / 4)

    def forward(self, ids):
        x = self.table[ids]
        return self.layer(self.layer(x, ids), ids) if self.rotates else self.layer(x, ids)

    def layer(self, x, ids):
        q, k, v = (x @ w for w in self.w[:3])
        if self.rotates:
            angle = torch.arange(ids.shape[1])[:, None] / 10.0 ** torch.arange(8)
            q, k = (
                torch.cat([y[..., :8] * angle.cos() - y[..., 8:] * angle.sin(),
                           y[..., :8] * angle.sin() + y[..., 8:] * angle.cos()], -1)
                for y in (q, k)
            )  # fmt: skip
        scores = q @ k.transpose(-2, -1) / 4
        mask = torch.ones(ids.shape[1], ids.shape[1]).tril().bool()
        return x + scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v @ self.w[3]


def test_order_is_looked_for_in_a_model_of_one_piece():
    for rotates, named in ((True, []), (False, ["order unseen"])):
        report = examine(OnePiece(rotates), "decoder", shared_layers=True, **healthy.TEXT)
        assert [f.name for f in report.findings] == named


# ---- what ends in NaN


@pytest.mark.parametrize(
    ("model", "kind", "old", "new", "finding"),
    [
        (ward.Reader, "encoder", "(ids != 0)[:, None", "(ids == 0)[:, None", "mask inverted"),
        (ward.Writer, "decoder", "causal = torch.tril(torch.ones(length, length)).bool()\n       "
                                 " x = self.embedding(ids)",
         "causal = torch.tril(torch.ones(length, length), -1).bool()\n        x = "
         "self.embedding(ids)", "past ignored"),
        (ward.Writer, "decoder", "dim=-1)", "dim=1)", "softmax over queries"),
    ],
)  # fmt: skip
def test_a_model_that_gives_nan_is_told_why(model, kind, old, new, finding):
    ill = changed(old, new)[model.__name__]()
    assert [f.name for f in examine(ill, kind, **healthy.TEXT).findings] == [finding]


# ---- manners


class Moody(ward.Writer):
    """Writes into its own weights, buffers and attributes whenever it runs, and may raise."""

    def __init__(self, raises=False):
        super().__init__()
        self.register_buffer("runs", torch.zeros(1))
        self.raises, self.note = raises, "untouched"

    def forward(self, ids):
        self.runs += 1
        self.note = "touched"
        with torch.no_grad():
            self.output.bias.add_(0.001)
        if self.raises and not self.training and ids.shape[1] > 3:
            raise RuntimeError("not today")
        return super().forward(ids)


@pytest.mark.parametrize("raises", [False, True])
def test_a_model_is_given_back_as_it_was(raises):
    model = Moody(raises)
    model.layers[1].eval()  # a mixture of modes
    model.output.bias.grad = torch.ones_like(model.output.bias)
    before, threads = copy.deepcopy(model.state_dict()), torch.get_num_threads()
    modes = [module.training for module in model.modules()]
    torch.manual_seed(7)
    random.seed(7)
    drawn = torch.get_rng_state(), random.getstate()
    if raises:
        refuses("not today", examine, model, "decoder", **healthy.TEXT)
    else:
        examine(model, "decoder", **healthy.TEXT)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert [module.training for module in model.modules()] == modes
    assert torch.equal(torch.get_rng_state(), drawn[0])
    assert random.getstate() == drawn[1]
    assert model.note == "untouched"
    assert model.output.bias.grad.eq(1).all()
    assert torch.is_grad_enabled()
    assert torch.get_num_threads() == threads
    assert torch.backends.mha.get_fastpath_enabled()
    assert not model._forward_hooks
    assert not any(m._forward_hooks for m in model.modules())


def test_a_report_can_be_read_and_used_in_a_test():
    report = said_of(patients, "no mask")
    assert "■ × ×" in repr(report)
    assert "× moves and mustn't" in repr(report)
    assert "grid" not in repr(said_of(patients, "output"))
    assert "layers.0.self_attention" in repr(report)
    assert report._repr_html_().count("<svg") == 2
    refuses("sees the future", report.assert_healthy, error=AssertionError)
    examine(ward.Writer(), "decoder", **healthy.TEXT).assert_healthy()


def test_errors_say_what_to_do():
    refuses("kind has to be one of", examine, ward.Writer(), "poem")
    refuses("needs vocab_size", examine, ward.Writer(), "decoder")
    refuses("couldn't be run .* call=", examine, ward.Writer(), "encoder-decoder", vocab_size=50)


IN_A_PROJECT = """
import sys
import pytest
import torch
from clinic import examine
from torch import nn

class Mine(nn.Module):
    def __init__(self, hides):
        super().__init__()
        self.tokens, self.places = nn.Embedding(40, 16), nn.Embedding(20, 16)
        self.body, self.out = nn.Transformer(16, 2, 1, 1, 32, batch_first=True), nn.Linear(16, 40)
        self.hides = hides

    def forward(self, source, target):
        x, y = (self.tokens(ids) + self.places.weight[: ids.shape[1]] for ids in (source, target))
        mask = torch.ones(y.shape[1], y.shape[1]).triu(1).bool() if self.hides else None
        return self.out(self.body(x, y, tgt_mask=mask))

@pytest.mark.parametrize("hides", [True, False])
def test_mine(hides):
    assert "helpers" not in sys.modules
    examine(Mine(hides), "encoder-decoder", vocab_size=40, max_len=20).assert_healthy()
"""


@pytest.mark.weekly
def test_the_clinic_needs_torch_alone_and_works_in_another_project(tmp_path):
    folder = Path(clinic.__file__).parent
    shutil.copytree(folder, tmp_path / "clinic", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "test_mine.py").write_text(IN_A_PROJECT, encoding="utf-8")
    command = [sys.executable, "-I", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout
    assert "1 failed, 1 passed" in told
    assert "sees the future: body.decoder.layers.0.self_attn" in told
    code = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    named = set(re.findall(r"^\s*(?:import|from) (\w+)", code, re.MULTILINE))
    assert named - sys.stdlib_module_names == {"clinic", "torch"}  # its own docstring imports it


def test_a_small_model_takes_less_than_two_seconds():
    model = ward.Writer()
    examine(model, "decoder", **healthy.TEXT)
    start = time.process_time()
    examine(model, "decoder", **healthy.TEXT)
    assert time.process_time() - start < SMALL
