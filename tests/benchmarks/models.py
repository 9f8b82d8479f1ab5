"""The same model three ways: ours, and what people would use instead, on the same shapes."""

import torch
import torch.nn.functional as F
from torch import nn

from helpers.transformer import masks, positions, transformer

D_MODEL, N_HEADS, N_LAYERS, D_FF, VOCABULARY = 256, 4, 3, 1024, 8000
BATCH, LENGTH, DROPOUT = 64, 32, 0.1
DECODED, NEW_TOKENS = 8, 48
PAD, BOS, EOS = 0, 1, 2


def ours():
    """Our Transformer at the sizes of the benchmark."""
    torch.manual_seed(0)
    return transformer.Transformer(
        transformer.TransformerConfig(
            src_vocab_size=VOCABULARY, tgt_vocab_size=VOCABULARY, share_vocabulary=True,
            norm_first=False, d_model=D_MODEL, n_heads=N_HEADS, n_layers=N_LAYERS, d_ff=D_FF,
            dropout=DROPOUT, max_len=64,
        )
    )  # fmt: skip


class TorchModel(nn.Module):
    """nn.Transformer between one embedding and the tied output, as its users write it."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(VOCABULARY, D_MODEL)
        self.register_buffer("positions", positions.sinusoidal_positions(64, D_MODEL))
        self.dropout = nn.Dropout(DROPOUT)
        self.transformer = nn.Transformer(
            D_MODEL, N_HEADS, N_LAYERS, N_LAYERS, D_FF, DROPOUT, batch_first=True
        )

    def embed(self, ids):
        return self.dropout(self.embedding(ids) * D_MODEL**0.5 + self.positions[: ids.shape[1]])

    def forward(self, src_ids, tgt_ids):
        hidden = self.transformer(
            self.embed(src_ids),
            self.embed(tgt_ids),
            tgt_mask=~masks.causal_mask(tgt_ids.shape[1]),
            src_key_padding_mask=src_ids == PAD,
            tgt_key_padding_mask=tgt_ids == PAD,
            memory_key_padding_mask=src_ids == PAD,
        )
        return F.linear(hidden, self.embedding.weight)

    def greedy(self, src_ids, n_tokens):
        """Decode without a cache: nn.Transformer has none."""
        mask = src_ids == PAD
        memory = self.transformer.encoder(self.embed(src_ids), src_key_padding_mask=mask)
        ids = torch.full((len(src_ids), 1), BOS)
        for _ in range(n_tokens):
            masked = {"tgt_mask": ~masks.causal_mask(ids.shape[1]), "memory_key_padding_mask": mask}
            hidden = self.transformer.decoder(self.embed(ids), memory, **masked)
            logits = F.linear(hidden[:, -1], self.embedding.weight)
            ids = torch.cat([ids, logits.argmax(-1, keepdim=True)], dim=1)
        return ids


def bart():
    """Hugging Face's BART at the same sizes."""
    from transformers import BartConfig, BartForConditionalGeneration

    torch.manual_seed(0)
    return BartForConditionalGeneration(
        BartConfig(
            vocab_size=VOCABULARY, max_position_embeddings=64, d_model=D_MODEL,
            encoder_layers=N_LAYERS, encoder_attention_heads=N_HEADS, encoder_ffn_dim=D_FF,
            decoder_layers=N_LAYERS, decoder_attention_heads=N_HEADS, decoder_ffn_dim=D_FF,
            dropout=DROPOUT, attention_dropout=0.0,  # as ours, and to BART's advantage
            pad_token_id=PAD, bos_token_id=BOS, eos_token_id=EOS, decoder_start_token_id=BOS,
            forced_eos_token_id=None,
        )
    )  # fmt: skip


def sentences(padded=False):
    """A batch of made sentences; with padding, lengths from a quarter of LENGTH up to LENGTH."""
    generator = torch.Generator().manual_seed(0)
    shape = (BATCH, LENGTH + 1)
    src_ids, tgt_ids = (torch.randint(4, VOCABULARY, shape, generator=generator) for _ in range(2))
    src_ids = src_ids[:, 1:]
    tgt_ids[:, 0] = BOS
    if padded:
        lengths = torch.randint(LENGTH // 4, LENGTH + 1, (BATCH, 1), generator=generator)
        src_ids[torch.arange(LENGTH) >= lengths] = PAD
        tgt_ids[:, 1:][torch.arange(LENGTH) >= lengths] = PAD
    return src_ids, tgt_ids


def plain_step(build, loss_of, *batch):
    """Make a function that takes a training step, as everybody writes it; it returns the loss."""
    model = build().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step():
        loss = loss_of(model, *batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return step
