"""Is each slip of the pen caught? One-line mutants of the core, and the tests that must fail.

A mutant is one fragment of one file, replaced. For each, a copy of the package with that change is
put in place of the real one in a forked process, and the named test files run. At least one test
has to fail; the unchanged copy has to pass.
"""

import contextlib
import os
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MUTANTS = [
    # file, fragment, what it becomes, tests
    ("attention.py", "/ math.sqrt(query.shape[-1])", "/ query.shape[-1]", "attention"),
    ("attention.py", "/ math.sqrt(query.shape[-1])", "* 1.0", "attention"),
    ("attention.py", "return scores.softmax(-1)\n", "return scores.softmax(-2)\n", "attention"),
    ("attention.py", "masked_fill(~mask, -math.inf)", "masked_fill(mask, -math.inf)", "attention"),
    ("attention.py", "masked_fill(~mask, -math.inf)", "masked_fill(~mask, 0.0)", "attention"),
    ("attention.py", ".softmax(-1).masked_fill(nothing_to_see, 0.0)", ".softmax(-1)", "attention"),
    ("attention.py", "return weights @ value, weights", "return weights @ key, weights",
     "attention"),
    ("attention.py", "merged = context.transpose(1, 2).flatten(-2)",
     "merged = context.reshape(len(context), context.shape[2], -1)", "attention"),
    ("attention.py", "x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)",
     "x.unflatten(-1, (-1, self.n_heads)).permute(0, 3, 1, 2)", "attention"),
    ("attention.py", "F.linear(key, weight, bias).chunk(2, dim=-1)",
     "F.linear(key, weight, bias).chunk(2, dim=-1)[::-1]", "attention"),
    ("attention.py", "torch.tanh(self.query_proj(query)[:, None] + projected_keys)",
     "torch.tanh(projected_keys)", "attention"),
    ("attention.py", "torch.tanh(self.query_proj(query)[:, None] + projected_keys)",
     "(self.query_proj(query)[:, None] + projected_keys)", "attention"),
    ("attention.py", "scaled_dot_product_attention(query, key, value, mask, dropout)",
     "scaled_dot_product_attention(query, key, value, None, dropout)", "attention"),
    ("masks.py", "(token_ids != pad_id)", "(token_ids == pad_id)", "masks"),
    ("masks.py", "(token_ids != pad_id)", "(token_ids != 0)", "masks"),
    ("masks.py", ".tril()", ".tril(1)", "masks"),
    ("masks.py", ".tril()", ".triu()", "masks"),
    ("positions.py", "[angle.sin(), angle.cos()]", "[angle.cos(), angle.sin()]", "positions"),
    ("positions.py", "torch.arange(max_len, dtype", "torch.arange(1, max_len + 1, dtype",
     "positions"),
    ("positions.py", "even * cos - odd * sin", "even * cos + odd * sin", "positions"),
    ("layers.py", "256 / (256 - threshold)", "1.0", "transformer"),
    ("layers.py", "x = x + self.dropout(found)", "x = self.dropout(found)", "transformer"),
    ("layers.py", "return x if self.norm_first else self.norm(x)", "return x", "transformer"),
    ("layers.py", "return self.norm(x) if self.norm_first else x", "return x", "transformer"),
    ("layers.py", "more[:, :, :, :start] = self.past[:, :, :, :start]", "pass", "transformer"),
    ("layers.py", "self.past[1, :, :, start : self.length] = value",
     "self.past[1, :, :, start : self.length] = key", "transformer"),
    ("layers.py", "self.past = self.past[:, rows]", "pass", "transformer"),
    ("transformer.py", "start=done)", "start=0)", "transformer"),
    ("transformer.py", "mask[:, :, done:]", "mask[:, :, : mask.shape[2] - done]", "transformer"),
    ("transformer.py", "vectors * math.sqrt(self.config.d_model)", "vectors", "transformer"),
    ("transformer.py", "self.positions[start:end]", "self.positions[start + 1 : end + 1]",
     "transformer"),
    ("transformer.py", "hidden[:, -1]", "hidden[:, 0]", "transformer"),
    ("losses.py", "* (1 - epsilon) + epsilon / vocab_size",
     "* (1 - epsilon) + epsilon / (vocab_size - 1)", "training"),
    ("losses.py", "real = targets != pad_id", "real = targets == targets", "training"),
    ("training.py", "keep = targets != pad_id", "keep = targets == targets", "training"),
    ("training.py", "tgt_ids[:, :-1], tgt_ids[:, 1:]", "tgt_ids[:, 1:], tgt_ids[:, 1:]",
     "training"),
    ("training.py", "step * warmup_steps**-1.5", "step * warmup_steps**-0.5", "training"),
    ("training.py", "max(left, 0.0)", "left", "training"),
    ("training.py", "score >= self.best[0]", "score <= self.best[0]", "training"),
    ("training.py", "for batch in batches[self.batch :]:", "for batch in batches:", "training"),
    ("decoding.py", "return ((5 + length) / 6)", "return (length / 6)", "decoding"),
    ("decoding.py", "beam_scores[..., None] + log_probs", "log_probs", "decoding"),
    ("decoding.py", "order, before >= p)", "order, before + probabilities >= p)", "decoding"),
    ("decoding.py", "logits / temperature", "logits * temperature", "decoding"),
    ("decoding.py", "logits < smallest_kept", "logits <= smallest_kept", "decoding"),
    ("decoding.py", "rows = running.nonzero().squeeze(1)",
     "rows = running.nonzero().squeeze(1) * 0", "decoding"),
    ("seq2seq.py", "self.attention(state[-1], states", "self.attention(state[-1] * 0, states",
     "seq2seq"),
    ("seq2seq.py", "return tuple(part[:, rows] for part in hidden)", "return hidden", "seq2seq"),
]  # fmt: skip

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def _tests_pass(package, test_file):
    """Run a test file on a package in a forked process; say whether everything passed."""
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException):
            for name in list(sys.modules):
                if name.split(".")[0] in ("helpers", "twins") or name.startswith("test_"):
                    del sys.modules[name]
            sys.path.insert(0, str(package.parent))
            import helpers

            assert Path(helpers.__file__).parent == package
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            os.environ.pop("PYTEST_XDIST_WORKER", None)
            options = ["-x", "-q", "-m", "not slow and not data", "--override-ini=addopts="]
            options += ["-p", "no:cacheprovider", "-p", "no:nbval", "-p", "no:xdist"]
            code = int(pytest.main([*options, f"--rootdir={ROOT}", str(test_file)]))
        os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    copy = tmp_path_factory.mktemp("mutant") / "helpers"
    leave_out = shutil.ignore_patterns("__pycache__", "weights", "exercises", "widgets", "static")
    shutil.copytree(ROOT / "helpers", copy, ignore=leave_out)
    return copy


@needs_fork
@pytest.mark.slow
@pytest.mark.parametrize("tests", sorted({mutant[3] for mutant in MUTANTS}))
def test_the_unchanged_package_passes(package, tests):
    assert _tests_pass(package, ROOT / "tests" / f"test_{tests}.py")


@needs_fork
@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "fragment", "becomes", "tests"),
    MUTANTS,
    ids=[f"{file}: {becomes}" for file, _, becomes, _ in MUTANTS],
)
def test_mutant_is_caught(package, file, fragment, becomes, tests):
    path = package / file
    original = path.read_text(encoding="utf-8")
    assert original.count(fragment) == 1, f"{fragment!r} stands {original.count(fragment)} times"
    path.write_text(original.replace(fragment, becomes), encoding="utf-8")
    try:
        assert not _tests_pass(package, ROOT / "tests" / f"test_{tests}.py")
    finally:
        path.write_text(original, encoding="utf-8")
