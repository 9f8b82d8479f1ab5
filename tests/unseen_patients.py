"""Thirteen bugs from public reports that the clinic wasn't developed on.

They were written before the clinic was run for the first time, as changes of `unseen_ward`.
"""

from pathlib import Path

import torch

from helpers.models.patients import GITHUB, Patient, by_name, run_source, source_of

WARD = Path(__file__).with_name("unseen_ward.py").read_text(encoding="utf-8")
KINDS = {"TinyBert": "encoder", "TinyGPT": "decoder", "Seq2Seq": "encoder-decoder"}
NO_MASK = 'bias = torch.full((t, t), float("-inf")).triu(1) if past is None else None'

PATIENTS = by_name(
    Patient(
        "two too many", "TinyGPT", "sees the future", "blocks.0.attn", "",
        GITHUB + "RVC-Boss/GPT-SoVITS/issues/965", ((".triu(1)", ".triu(2)"),),
    ),
    Patient(
        "folded by view", "TinyBert", "heads scrambled", "blocks.0.attn", "",
        GITHUB + "reczoo/FuxiCTR/issues/30",
        (("        x = x.view(b, t, self.heads, d // self.heads).permute(0, 2, 1, 3)\n", ""),
         ("        x = x.view(b, self.heads, t, -1).permute(0, 2, 1, 3)\n", "")),
    ),
    Patient(
        "batch second", "Seq2Seq", "sentences mixed", "encoder.layers.0.self_attn", "",
        GITHUB + "Exorust/TorchLeet/issues/5",
        ((", batch_first=True", ""), (", src_key_padding_mask=pad", "")),
    ),
    Patient(
        "somebody else's mask", "TinyBert", "padding counts", "blocks.0.attn", "",
        GITHUB + "lsdefine/attention-is-all-you-need-keras/issues/36",
        (("pad.repeat_interleave(self.heads, 0)", "pad.repeat(self.heads, 1, 1)"),),
    ),
    Patient(
        "heads first", "TinyGPT", "sentences mixed", "blocks.0.attn", "",
        GITHUB + "gazelle93/Transformer-Various-Positional-Encoding/issues/1",
        (("x.view(b, self.heads, t, -1).permute(0, 2, 1, 3)",
          "x.view(self.heads, b, t, -1).permute(1, 2, 0, 3)"),),
    ),
    Patient(
        "always the first position", "TinyGPT", "cache disagrees", "wpe", "",
        GITHUB + "lucidrains/x-transformers/issues/219",
        (("            past.length += t\n", "            past.length += 0\n"),),
    ),
    Patient(
        "sharp", "TinyGPT", "not scaled", "blocks.0.attn", "",
        GITHUB + "mlc-ai/mlc-llm/pull/3426", (("        q = q * q.size(-1) ** -0.5\n", ""),),
    ),
    Patient(
        "plain list", "TinyGPT", "no gradient", "blocks", "",
        GITHUB + "maruya24/pytorch_robotics_transformer/issues/3",
        (("nn.ModuleList([Block(width, heads, p) for _ in range(depth)])\n        self.ln_f "
          "= Norm(width)\n        self.head",
          "[Block(width, heads, p) for _ in range(depth)]\n        self.ln_f = Norm(width)\n "
          "       self.head"),),
    ),
    Patient(
        "down the sentence", "TinyBert", "norm over the wrong axis", "blocks.0.ln1", "",
        GITHUB + "jadore801120/attention-is-all-you-need-pytorch/pull/17",
        (("x.mean(-1, keepdim=True)", "x.mean(1, keepdim=True)"),
         ("x.std(-1, keepdim=True)", "x.std(1, keepdim=True)")),
    ),
    Patient(
        "its own keys", "Seq2Seq", "source ignored", "decoder.0.cross", "",
        GITHUB + "keitakurita/Practical_NLP_in_PyTorch/issues/1",
        (("self.cross(x, memory, real)", "self.cross(x, x, causal)"),),
    ),
    Patient(
        "wrong mask", "Seq2Seq", "source misaligned", "decoder.0.cross", "",
        GITHUB + "keras-team/keras-io/issues/1964",
        (("self.cross(x, memory, real)", "self.cross(x, memory, causal)"),),
    ),
    Patient(
        "tied", "TinyGPT", "loss at the start", "head", "",
        GITHUB + "huggingface/transformers/pull/26441",
        (("        nn.init.normal_(self.wte.weight, std=0.02)\n", ""),),
    ),
    Patient(
        "only when tested", "TinyGPT", "training differs from inference", "", "",
        GITHUB + "keras-team/keras/issues/23038",
        ((NO_MASK, NO_MASK + "\n        bias = None if self.training else bias"),),
    ),
)  # fmt: skip


def admit(name):
    """Build one of them and say with which arguments `examine` is to be called."""
    patient = PATIENTS[name]
    names = run_source(source_of(patient, WARD), f"unseen_{name.replace(' ', '_')}.py")
    torch.manual_seed(0)
    options = {"kind": KINDS[patient.model], "vocab_size": 61, "pad_id": 1, "max_len": 40}
    if patient.finding == "cache disagrees":
        options["cached"] = names["step_by_step"]
    return names[patient.model](), options
