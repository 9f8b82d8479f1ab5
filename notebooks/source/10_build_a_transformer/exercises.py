"""Lesson 10, build a Transformer: the modules that hold the learner's functions together.

A learner writes classes here. The check gives each one the tested weights, and compares what its
forward computes. A known mistake is an edit of the class in the course's own copy of the file.
"""

import inspect

import torch

from helpers.exercises import lessons
from helpers.exercises.model import Exercise, Mistake
from helpers.transformer.masks import causal_mask, padding_mask

own = lessons.module(10, "my_transformer")
warmup_rate = own.warmup_rate


def _loaded(module, weights):
    """Put weights into a learner's module, or say which parts it should have."""
    expected, found = set(weights), set(module.state_dict())
    if expected != found:
        parts = (sorted({name.split(".")[0] for name in names}) for names in (expected, found))
        raise AttributeError("the parts should be called {}; yours are {}".format(*parts))
    module.load_state_dict(weights)
    return module


def _takes_attention(cls):
    def attention(weights, n_heads, x, source, mask, with_cache):
        """Attend at once, or step by step with a cache."""
        with torch.no_grad():
            layer = _loaded(cls(x.shape[-1], n_heads), weights)
            if not with_cache:
                return layer(x, source, mask)
            steps, cache = [], {}
            for t, row in enumerate(x.split(1, dim=1)):
                # A known mistake keeps nothing, and a mask wouldn't fit what it has.
                steps.append(layer(row, row, mask[..., : t + 1] if cache else None, cache))
            return torch.cat(steps, dim=1)

    return attention


def _takes_encoder_layer(cls):
    def encoder_layer(weights, n_heads, d_ff, x, mask):
        with torch.no_grad():
            return _loaded(cls(x.shape[-1], n_heads, d_ff), weights)(x, mask)

    return encoder_layer


def _takes_decoder_layer(cls):
    def decoder_layer(weights, n_heads, d_ff, x, memory, mask, memory_mask, with_cache):
        """Run over all positions at once, or step by step with a cache."""
        with torch.no_grad():
            layer = _loaded(cls(x.shape[-1], n_heads, d_ff), weights)
            if not with_cache:
                return layer(x, memory, mask, memory_mask)
            steps, cache = [], {}
            for row in x.split(1, dim=1):
                steps.append(layer(row, memory, None, memory_mask, cache))
                if layer.across in cache:  # a known mistake: the next step would fail at the mask
                    break
            return torch.cat(steps, dim=1)

    return decoder_layer


def _takes_transformer(cls):
    def transformer(weights, sizes, pad_id, src_ids, tgt_ids, with_cache):
        """Compute logits at once, or step by step with a cache."""
        with torch.no_grad():
            model = _loaded(cls(*sizes, pad_id), weights)
            if not with_cache:
                return model(src_ids, tgt_ids)
            given = model.encode(src_ids), padding_mask(src_ids, pad_id), {}
            lengths = range(1, tgt_ids.shape[1] + 1)
            return torch.cat([model.decode(tgt_ids[:, :t], *given) for t in lengths], dim=1)

    return transformer


def _edited(takes, cls, *changes):
    """Make the function that a class gives once some of its text is changed."""
    text = inspect.getsource(cls)
    for old, new in changes:
        assert text.count(old) == 1, (cls, old)
        text = text.replace(old, new)
    known = dict(vars(own))
    exec(text, known)
    return takes(known[cls.__name__])


def _mistakes(takes, cls, *rows):
    return [Mistake(name, _edited(takes, cls, *changes), why) for name, changes, why in rows]


# What the checks draw.


def _weights(module, generator):
    """Draw weights of the size of a module's; moderate, and none of them 0."""
    return {
        name: torch.randn(tensor.shape, generator=generator) * 0.5 + 0.1
        for name, tensor in module.state_dict().items()
    }


def _ids(*rows):
    return torch.tensor(rows)


def _draw_attention(generator):
    for width, heads, t, s, mask, with_cache in [
        (4, 2, 3, 3, causal_mask(3), False),
        (6, 3, 3, 3, padding_mask(_ids([4, 7, 0], [3, 0, 0]), 0), False),
        (8, 2, 3, 5, None, False),
        (6, 2, 4, 4, padding_mask(_ids([4, 0, 7, 5]), 0), True),
    ]:
        weights = _weights(own.MultiHeadAttention(width, heads), generator)
        batch = 1 if mask is None or mask.dim() < 4 else len(mask)
        x, source = (torch.randn(batch, n, width, generator=generator) for n in (t, s))
        yield weights, heads, x, source, mask, with_cache


def _draw_encoder_layer(generator):
    for width, heads, d_ff, ids in [
        (4, 2, 5, _ids([2, 5, 0])),
        (6, 3, 7, _ids([4, 7, 2, 1], [3, 5, 0, 0])),
    ]:
        weights = _weights(own.EncoderLayer(width, heads, d_ff), generator)
        x = torch.randn(*ids.shape, width, generator=generator)
        yield weights, heads, d_ff, x, padding_mask(ids, 0)


def _draw_decoder_layer(generator):
    for width, heads, d_ff, source, t, with_cache in [
        (4, 2, 5, _ids([2, 5, 0]), 3, False),
        (6, 3, 7, _ids([4, 7, 2, 1], [3, 5, 0, 0]), 3, False),
        (4, 4, 6, _ids([4, 7, 2, 0, 0]), 4, True),
    ]:
        x = torch.randn(len(source), t, width, generator=generator)
        memory = torch.randn(*source.shape, width, generator=generator)
        weights = _weights(own.DecoderLayer(width, heads, d_ff), generator)
        masks = causal_mask(t), padding_mask(source, 0)
        yield weights, heads, d_ff, x, memory, *masks, with_cache


def _draw_transformer(generator):
    for sizes, pad_id, source, target, with_cache in [
        ((8, 4, 2, 1, 5), 0, _ids([2, 5, 0]), _ids([1, 3]), False),
        ((9, 6, 3, 2, 7), 7, _ids([4, 3, 2, 1], [3, 5, 7, 7]), _ids([1, 4, 2], [1, 6, 7]), False),
        ((8, 4, 2, 3, 6), 0, _ids([4, 7, 2, 0]), _ids([1, 3, 5]), True),
    ]:
        weights = _weights(own.Transformer(*sizes, pad_id), generator)
        yield weights, sizes, pad_id, source, target, with_cache


class _Learner:
    """A tiny model to train: an embedding and a matrix."""

    d_model = 4

    def __init__(self, start, pad_id):
        self.now, self.pad_id, self.shown = [t.clone().requires_grad_() for t in start], pad_id, 0

    def parameters(self):
        return list(self.now)

    def __call__(self, src_ids, tgt_ids):
        return (self.now[0][tgt_ids] + self.now[0][src_ids].mean(1, keepdim=True)) @ self.now[1]

    def show(self, step, loss):
        self.shown += 1
        if step != self.shown:
            raise ValueError(f"show(step, loss) was called with step {step}, not {self.shown}")


def _takes_train(train):
    def losses(table, matrix, pad_id, batches, warmup_steps):
        """Train a tiny model that starts with these two matrices."""
        with torch.inference_mode(False), torch.enable_grad():
            model = _Learner([table.clone(), matrix.clone()], pad_id)
            pairs = [tuple(ids.clone() for ids in batch) for batch in batches]
            return train(model, pairs, warmup_steps, model.show)

    return losses


def _draw_train(generator):
    for pad_id, n, warm in [(0, 3, 2), (6, 5, 3)]:
        start = [torch.randn(shape, generator=generator) for shape in ((7, 4), (4, 7))]
        ids = torch.randint(1, 6, (n, 2, 2, 4), generator=generator)
        ids[:, 1, 1, 2:] = pad_id
        yield *start, pad_id, [tuple(batch) for batch in ids], warm


class _Writer:
    """A made-up model with the methods of a Transformer; what it writes depends on its source."""

    def __init__(self, table, pad_id):
        self.table, self.pad_id, self.caches = table, pad_id, []

    def encode(self, src_ids):
        return src_ids[..., None].float()

    def decode(self, tgt_ids, memory, memory_mask, cache=None):
        self.caches.append(cache is not None)
        kept = (memory[..., 0] * memory_mask[:, 0, 0]).sum(1, keepdim=True)  # (B, 1)
        at = (tgt_ids.cumsum(1) + kept).long() % 9
        return self.table[at if cache is None else at[:, -1:]]


def _takes_translate(translate):
    def written(table, pad_id, src_ids, bos_id, eos_id, max_len, with_cache):
        """Write with a made-up model that knows which token follows which."""
        model = _Writer(table, pad_id)
        ids = translate(model, src_ids, bos_id, eos_id, max_len, {} if with_cache else None)
        if any(used != with_cache for used in model.caches):
            raise ValueError("model.decode(…) wants the cache that translate was given")
        return ids

    return written


def _draw_translate(generator):
    for pad_id, never, source, bos_id, eos_id, max_len, with_cache in [
        (0, 2, _ids([3, 5, 2]), 1, 2, 6, False),
        (7, 8, _ids([4, 2, 7, 7]), 3, 2, 9, True),
        (0, 5, _ids([6, 2, 0]), 4, 5, 4, False),
        (5, 0, _ids([1, 6, 3, 5]), 1, 6, 8, False),
    ]:
        table = torch.randn(9, 9, generator=generator)
        table[:, [pad_id, never]] = -9.0
        yield table, pad_id, source, bos_id, eos_id, max_len, with_cache


# The two functions, written otherwise; known mistakes are edits of the file's own.


def _train_by_groups(model, batches, warmup_steps=150, show=print):
    losses = []
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98))
    for step, batch in enumerate(batches, 1):
        src_ids, tgt_ids = batch
        for group in optimizer.param_groups:
            group["lr"] = warmup_rate(step, model.d_model, warmup_steps) / 5
        logits = model(src_ids, tgt_ids[:, :-1])
        targets = tgt_ids[:, 1:]
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), ignore_index=model.pad_id
        )
        for parameter in optimizer.param_groups[0]["params"]:
            parameter.grad = None
        loss.backward()
        optimizer.step()
        losses += [loss.item()]
        show(step, losses[-1])
    return losses


def _translate_in_a_loop(model, src_ids, bos_id, eos_id, max_len, cache=None):
    memory, mask = model.encode(src_ids), (src_ids != model.pad_id)[:, None, None]
    ids = torch.tensor([[bos_id]])
    while ids.shape[1] <= max_len:
        token = model.decode(ids, memory, mask, cache=cache)[:, -1:].argmax(-1)
        ids = torch.cat([ids, token], dim=1)
        if token == eos_id:
            break
    return ids[0, 1:].tolist()


SWAPPED = "Queries come from `x`, the position that asks. Keys and values come from `source`."

# fmt: off
EXERCISES = [
    Exercise(
        name="MultiHeadAttention", title="several heads, as a module",
        task="Write `forward`. Project `x` to queries, and `source` to keys and values. Split all three into heads, attend, merge, and apply `w_o`. If there is a `cache` (a dictionary; lesson 08, section 5), put the keys and values of earlier calls in front of the new ones, and store both in `cache[self]`. That takes three or four lines between splitting and attending, so write the rest first.",
        minutes=10, difficulty=4, importance=5,
        reference=_takes_attention(own.MultiHeadAttention), written=own.MultiHeadAttention,
        takes=_takes_attention, draw=_draw_attention,
        then="Both layers and all three uses of attention run on your module.",
        mistakes=_mistakes(_takes_attention, own.MultiHeadAttention,
            ("keys and values from x", [("self.w_k(source), self.w_v(source)", "self.w_k(x), self.w_v(x)")], SWAPPED),
            ("queries from the source", [("self.w_q(x)", "self.w_q(source)")], SWAPPED),
            ("no mask", [("value, mask)", "value)")], "The mask isn't passed on, so padding and later positions get weight."),
            ("no W_O", [("self.w_o(merge_heads(context))", "merge_heads(context)")], "The heads are concatenated and returned. Without `w_o`, no head's output reaches another head's coordinates."),
            ("no heads", [("split_heads(part, self.n_heads)", "part[:, None]")], "This is a single attention over the whole width. Split queries, keys and values into `n_heads` first."),
            ("values not projected", [("self.w_v(source)", "source")], "The values are the source itself. They have a projection too: `w_v`."),
            ("new keys first", [("zip(old, (key, value))", "zip((key, value), old)")], "New keys and values come in front of the old ones, so a mask hides the wrong positions. The order in the cache is that of the text."),
            ("cache not kept", [("key, value = cache[self] =", "key, value =")], "All is right without a cache, but you have no cache yet, or nothing stays in it. Step by step, each token then sees only itself. Keep the longer keys and values in `cache[self]`."),
        ),
        also_right=[
            _takes_attention(own.MultiHeadAttention),
            _edited(_takes_attention, own.MultiHeadAttention, ("torch.cat(pair, 2)", "torch.cat([*pair], dim=-2)"), ("self.w_q(x), self.w_k(source), self.w_v(source)", "[w(y) for w, y in ((self.w_q, x), (self.w_k, source), (self.w_v, source))]")),
        ],
        hints=["Each of the three projections is a layer: self.w_q(x) has the shape of x.",
               "query, key, value = (split_heads(part, self.n_heads) for part in (self.w_q(x), self.w_k(source), self.w_v(source)))",
               "context, weights = scaled_dot_product_attention(query, key, value, mask), then self.w_o(merge_heads(context)). For the cache: old = cache.get(self), and torch.cat([old_key, key], dim=2) along the positions."],
        look_at="Nothing else in the model has to know what's in the cache, because each attention keeps its own keys and values under `self`.",
        pytorch="`cache.get(self)` (None if there's nothing yet), `torch.cat([a, b], dim=2)`",
    ),
    Exercise(
        name="EncoderLayer", title="an encoder layer",
        task="Write `__init__` and `forward`. First comes self-attention, then the feed-forward network, each inside `residual_pre_norm` with a norm of its own. Call the parts `attention`, `network`, `norm_1` and `norm_2`.",
        minutes=7, difficulty=3, importance=5,
        reference=_takes_encoder_layer(own.EncoderLayer), written=own.EncoderLayer,
        takes=_takes_encoder_layer, draw=_draw_encoder_layer,
        then="The encoder is a list of these.",
        mistakes=_mistakes(_takes_encoder_layer, own.EncoderLayer,
            ("one norm for both", [("self.network, self.norm_2", "self.network, self.norm_1")], "Both sublayers use `norm_1`. Each sublayer has a norm of its own."),
            ("no mask", [("self.attention(h, h, mask)", "self.attention(h, h)")], "Attention doesn't get the mask, so words attend to padding."),
            ("reads what is not normalised", [("self.attention(h, h, mask)", "self.attention(x, x, mask)")], "The lambda is given the normalised `h`, but attends to `x`. Which of the two does a pre-norm sublayer read?"),
            ("keys not normalised", [("self.attention(h, h, mask)", "self.attention(h, x, mask)")], "The queries are normalised, and the keys and values aren't. In self-attention both come from `h`."),
            ("network first", [("x = residual_pre_norm(x, lambda h: self.attention(h, h, mask), self.norm_1)\n        return residual_pre_norm(x, self.network, self.norm_2)", "x = residual_pre_norm(x, self.network, self.norm_2)\n        return residual_pre_norm(x, lambda h: self.attention(h, h, mask), self.norm_1)")], "The feed-forward network comes first here. Words exchange information first, and then each is processed by itself."),
            ("both post-norm", [("x = residual_pre_norm(", "x = residual_post_norm("), ("return residual_pre_norm(", "return residual_post_norm(")], "Both sublayers are post-norm: the sum is normalised, and not what a sublayer reads. This model normalises first: `residual_pre_norm`."),
            ("post-norm", [("residual_pre_norm(x, self.network", "residual_post_norm(x, self.network")], "The second sublayer is post-norm. This model normalises what a sublayer reads: `residual_pre_norm`."),
        ),
        also_right=[
            _takes_encoder_layer(own.EncoderLayer),
            _edited(_takes_encoder_layer, own.EncoderLayer, ("x = residual_pre_norm(x, lambda h: self.attention(h, h, mask), self.norm_1)", "h = self.norm_1(x)\n        x = x + self.attention(h, h, mask)"), ("return residual_pre_norm(x, self.network, self.norm_2)", "return x + self.network(self.norm_2(x))")),
        ],
        hints=["__init__ makes a MultiHeadAttention(d_model, n_heads), a FeedForward(d_model, d_ff) and two LayerNorm(d_model), after super().__init__().",
               "residual_pre_norm takes a function of one argument: lambda h: self.attention(h, h, mask).",
               "x = residual_pre_norm(x, lambda h: self.attention(h, h, mask), self.norm_1), then the same with self.network and self.norm_2."],
        look_at="x goes through the layer on a path of its own, and both sublayers only add to it.",
        pytorch="after `super().__init__()`, `nn.Module` finds every part that you assign to self",
    ),
    Exercise(
        name="DecoderLayer", title="a decoder layer",
        task="Write `__init__` and `forward`. First comes masked self-attention with the cache, then cross-attention to the memory, without the cache (it only ever appends, and the memory doesn't grow), then the feed-forward network. Call the parts `attention`, `across`, `network`, `norm_1`, `norm_2` and `norm_3`.",
        minutes=8, difficulty=3, importance=5,
        reference=_takes_decoder_layer(own.DecoderLayer), written=own.DecoderLayer,
        takes=_takes_decoder_layer, draw=_draw_decoder_layer,
        then="The decoder is a list of these.",
        mistakes=_mistakes(_takes_decoder_layer, own.DecoderLayer,
            ("masks exchanged", [("self.attention(h, h, mask, cache)", "self.attention(h, h, None, cache)"), ("memory, memory_mask)", "memory)")], "Neither attention gets its mask: `mask` hides later positions of the target, `memory_mask` the padding of the source."),
            ("no padding mask", [("memory, memory_mask)", "memory)")], "Cross-attention doesn't get `memory_mask`, so it attends to the source's padding."),
            ("no causal mask", [("self.attention(h, h, mask, cache)", "self.attention(h, h, None, cache)")], "Self-attention doesn't get `mask`, so every position sees the tokens that it should predict."),
            ("no cross-attention", [("self.across(h, memory, memory_mask)", "self.across(h, h)")], "The second attention reads the target once more. Its keys and values come from the memory."),
            ("two norms exchanged", [("memory_mask), self.norm_2)", "memory_mask), self.norm_3)"), ("self.network, self.norm_3", "self.network, self.norm_2")], "`norm_2` belongs to cross-attention and `norm_3` to the network; here they've changed places."),
            ("cross-attention first", [("self.attention(h, h, mask, cache), self.norm_1)", "self.across(h, memory, memory_mask), self.norm_2)"), ("h, memory, memory_mask), self.norm_2)\n        return", "h, h, mask, cache), self.norm_1)\n        return"), ("self.across(h, h, mask, cache)", "self.attention(h, h, mask, cache)")], "Cross-attention comes first here. The target's tokens exchange information among themselves before they read the memory."),
            ("cache for both", [("memory, memory_mask)", "memory, memory_mask, cache)")], "Cross-attention is given the cache too, so every step appends the whole memory once more, and `memory_mask` no longer fits. Only self-attention gets the cache."),
            ("cache left out", [("self.attention(h, h, mask, cache)", "self.attention(h, h, mask)")], "Self-attention isn't given the cache. Step by step, each new token then sees only itself."),
        ),
        also_right=[
            _takes_decoder_layer(own.DecoderLayer),
            _edited(_takes_decoder_layer, own.DecoderLayer, ("x = residual_pre_norm(x, lambda h: self.across(h, memory, memory_mask), self.norm_2)", "x = x + self.across(self.norm_2(x), memory, memory_mask)"), ("return residual_pre_norm(x, self.network, self.norm_3)", "return x + self.network(self.norm_3(x))")),
        ],
        hints=["It's an encoder layer with one more sublayer in the middle, which has its own norm.",
               "Self-attention: self.attention(h, h, mask, cache). Cross-attention: self.across(h, memory, memory_mask).",
               "Three lines: x = residual_pre_norm(x, lambda h: ..., self.norm_1), then norm_2 with self.across, then self.network with self.norm_3."],
        look_at="Only the queries of cross-attention are the decoder's. Its keys and values are the same for every step of writing.",
    ),
    Exercise(
        name="Transformer", title="the whole Transformer",
        task="Write `encode`, `decode` and `forward`. The logits are dot products with the rows of `embedding.table`. With a `cache`, `decode` embeds only the newest token, at its own position, and uses only the last row of the mask.",
        minutes=14, difficulty=4, importance=5,
        reference=_takes_transformer(own.Transformer), written=own.Transformer,
        takes=_takes_transformer, draw=_draw_transformer,
        then="The next cells train it, and then load the translator's weights into it.",
        mistakes=_mistakes(_takes_transformer, own.Transformer,
            ("no norm after the encoder", [("return self.encoder_norm(x)", "return x")], "The memory isn't normalised: in a pre-norm model nothing has normalised the sum that leaves the last layer."),
            ("no norm after the decoder", [("self.decoder_norm(x) @", "x @")], "`decoder_norm` is missing before the logits."),
            ("target padding not masked", [("decoder_mask(tgt_ids, self.pad_id)", "causal_mask(tgt_ids.shape[1])[None, None]")], "The decoder's mask hides later positions, but not the target's padding: `decoder_mask` does both."),
            ("no causal mask", [("decoder_mask(tgt_ids, self.pad_id)[:, :, start:]", "padding_mask(tgt_ids, self.pad_id)")], "The decoder sees later positions: it needs `decoder_mask`."),
            ("source padding not masked", [("x = layer(x, padding_mask(src_ids, self.pad_id))", "x = layer(x)")], "The encoder's layers don't get the padding mask."),
            ("first layer only", [("for layer in self.decoder:", "for layer in self.decoder[:1]:")], "Only the first decoder layer runs."),
            ("newest token at position 0", [("self.embedding(tgt_ids[:, start:], start)", "self.embedding(tgt_ids[:, start:])")], "Without a cache everything is right. With one, the newest token is embedded as if it were at position 0."),
        ),
        also_right=[
            _takes_transformer(own.Transformer),
            _edited(_takes_transformer, own.Transformer, ("self.decoder_norm(x) @ self.embedding.table.T", "torch.nn.functional.linear(self.decoder_norm(x), self.embedding.table)")),
        ],
        hints=["encode: embed, run every layer with padding_mask(src_ids, self.pad_id), normalise.",
               "decode: start = 0 without a cache, else tgt_ids.shape[1] - 1. Embed tgt_ids[:, start:] from position start on; the mask is decoder_mask(tgt_ids, self.pad_id)[:, :, start:].",
               "forward: memory = self.encode(src_ids), then self.decode(tgt_ids, memory, padding_mask(src_ids, self.pad_id))."],
        look_at="One table does three jobs: it embeds the source, embeds the target, and scores every token at the end.",
        pytorch="`x @ table.T` compares every position with every row of the table",
    ),
    Exercise(
        name="train", title="the training loop",
        task="Train with Adam, betas (0.9, 0.98). In each step, counted from 1, set the learning rate to 0.2 times `warmup_rate`, compute the loss with the target shifted as in lesson 08, and take the optimiser's step. Call `show(step, loss)` each time, and return the losses as a list of floats.",
        minutes=8, difficulty=3, importance=5,
        reference=_takes_train(own.train), written=own.train, takes=_takes_train, draw=_draw_train,
        then="The next cells train your model with this loop.",
        mistakes=_mistakes(_takes_train, own.train,
            ("not shifted", [("tgt_ids[:, :-1]", "tgt_ids[:, 1:]")], "Each position reads the very token that it should predict. Which tokens go in, and which are the targets?"),
            ("targets not shifted", [("tgt_ids[:, 1:]", "tgt_ids[:, :-1]")], "The targets are the inputs themselves. Position t should predict token t + 1."),
            ("nothing shifted", [("tgt_ids[:, :-1]", "tgt_ids"), ("tgt_ids[:, 1:]", "tgt_ids")], "Inputs and targets are the same tokens, so each position is asked for what it has just read. Position t should predict token t + 1."),
            ("gradients pile up", [("        optimizer.zero_grad()\n", "")], "The gradients of all earlier batches are still there and add up. What clears them?"),
            ("no step", [("        optimizer.step()\n", "")], "Nothing moves: the gradients are computed, but the optimiser never takes its step."),
            ("rate without its factor", [("0.2 * warmup_rate", "warmup_rate")], "The learning rate is five times too large: 0.2 times `warmup_rate`."),
            ("rate not set", [('param_groups[0]["lr"] = 0.2', 'param_groups[0]["rate"] = 0.2')], "The learning rate stays Adam's own, 0.001: put yours into optimizer.param_groups[0]."),
        ),
        also_right=[_takes_train(own.train), _takes_train(_train_by_groups)],
        hints=["for step, (src_ids, tgt_ids) in enumerate(batches, start=1): …",
               'The rate: optimizer.param_groups[0]["lr"] = 0.2 * warmup_rate(step, model.d_model, warmup_steps). The loss: cross_entropy(model(src_ids, tgt_ids[:, :-1]), tgt_ids[:, 1:], model.pad_id).',
               "Then optimizer.zero_grad(), loss.backward(), optimizer.step(), losses.append(loss.item()), show(step, losses[-1])."],
        look_at="The shift, the mean over real tokens and the warm-up have all come together here.",
        pytorch="`torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))`, `loss.item()`",
    ),
    Exercise(
        name="translate", title="write a translation",
        task="Encode the source once. Then let your `greedy_decode` write: its `step` turns the ids so far into the logits of the next token. Pass `cache` on to `model.decode`.",
        minutes=7, difficulty=3, importance=5,
        reference=_takes_translate(own.translate), written=own.translate, takes=_takes_translate,
        draw=_draw_translate,
        then="From here on, your function writes every translation in this lesson.",
        mistakes=_mistakes(_takes_translate, own.translate,
            ("source padding not masked", [("padding_mask(src_ids, model.pad_id)", "torch.ones_like(src_ids).bool()[:, None, None]")], "The memory's mask allows everything, so the decoder attends to the source's padding."),
            ("first position", [("cache)[0, -1]", "cache)[0, 0]")], "The logits of the first position predict the second token, over and over. Which position predicts the next one?"),
            ("unlikeliest", [("lambda ids: model", "lambda ids: -model")], "The sign is reversed, so the least likely token is written each time."),
            ("bos for eos", [("step, bos_id, eos_id", "step, eos_id, bos_id")], "`bos_id` and `eos_id` have changed places, so the sentence starts with its end."),
            ("one token short", [("eos_id, max_len)", "eos_id, max_len - 1)")], "It stops one token before `max_len`."),
        ),
        also_right=[_takes_translate(_translate_in_a_loop), _takes_translate(own.translate)],
        hints=["memory = model.encode(src_ids), and its mask is padding_mask(src_ids, model.pad_id): both once, before any token is written.",
               "step gets a plain list of ids: model.decode(torch.tensor([ids]), memory, mask, cache) has the shape (1, T, V).",
               "def step(ids): return model.decode(torch.tensor([ids]), memory, mask, cache)[0, -1], then return greedy_decode(step, bos_id, eos_id, max_len)."],
        look_at="Your `step` doesn't change when a cache is added. Only `decode` does less work.",
        pytorch="`torch.tensor([ids])` makes a batch of one sentence from a list",
    ),
]
