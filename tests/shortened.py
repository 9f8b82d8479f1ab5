"""The lessons' longest cells, cut short for `make test`: every line runs, no result is held.

What such a cell reaches doesn't change from commit to commit, and no lesson lands without it:
each build runs the whole cell and holds its claims, and so does `make test-all`, weekly.
"""

import ast

from notebooks import build

# By notebook, what stands in one of its cells, and what runs there instead.
SHORTER = {
    "01_sequence_to_sequence": [
        ("splits.train[:2000]", "splits.train[:200]"),
        ("batches(epochs=6)", "batches(epochs=1)"),
        ('("LSTM", encoders["lstm"]),\n    ("plain RNN", encoders["rnn"]),', ""),
    ],
    "02_bahdanau_attention": [
        ("splits.test[:200]", "splits.test[:40]"),
        ('["additive", "dot", "general", "concat"]:\n    toy', '["additive", "dot"]:\n    toy'),
    ],
    "03_self_attention_vectors": [
        ("(seed, french=False)[0] for seed in range(5)", "(seed, french=False)[0] for seed in [0]"),
        ("(seed, even=True)[0] for seed in range(5)", "(seed, even=True)[0] for seed in [0]"),
        ("even=False, steps=300,", "even=False, steps=60,"),
    ],
    "04_self_attention_matrices": [
        ("exam(divided_by(1), 400)", "exam(divided_by(1), 30)"),
        ("exam(divided_by(WIDTH), 160)", "exam(divided_by(WIDTH), 20)"),
        ("80), exam(divided_by(1), 80)", "20), exam(divided_by(1), 20)"),
        ("exam(score, 80)", "exam(score, 20)"),
    ],
    "05_positional_encoding": [("(positions, steps=200)", "(positions, steps=20)")],
    "06_multi_head_attention": [
        ("width=16, n_steps=300", "width=16, n_steps=30"),
        ("in CAPTIONS\n]\nwhole =", "in CAPTIONS[:2]\n]\nwhole ="),
    ],
    "07_encoder_and_decoder": [
        ("toy.train), encode", "toy.train[:200]), encode"),
        ("zip(*CAPTIONS[:5]", "zip(*CAPTIONS[:2]"),
    ],
    "08_decoding": [
        ("lengths = [8, 32, 64, 128]", "lengths = [8, 16]"),
        ("width=32, n_steps=70", "width=32, n_steps=10"),
        ("[sampled(seed) for seed in range(10)]", "[sampled(seed) for seed in range(2)]"),
    ],
    "09_loss_and_training": [
        ("for seed in range(3)\n    ]\n", "for seed in range(1)\n    ]\n"),
        ("measure, steps=30, seed=seed", "measure, steps=3, seed=seed"),
        ("splits.train[:1000]", "splits.train[:100]"),
        ("[tiny_run(clear, seed) for seed in range(3)]", "[tiny_run(clear, seed) for seed in [0]]"),
    ],
    "10_build_a_transformer": [
        ("toy_sentences(20_000, 100)", "toy_sentences(2_000, 100)"),
        ("own.batches_of(pairs, 600, size=64)", "own.batches_of(pairs, 10, size=64)"),
        ("step >= 475", "step >= 0"),
        ("for french, english in test_lines]", "for french, english in test_lines[:5]]"),
        ("([french]) for french, _ in CAPTIONS]", "([french]) for french, _ in CAPTIONS[:3]]"),
    ],
    "12_bert": [
        ("steps=700, peak=4e-3", "steps=30, peak=4e-3"),
        ("N_REVIEWS, PASSES, RATE = 300, 2, 1e-3", "N_REVIEWS, PASSES, RATE = 40, 1, 1e-3"),
        ("batches(test[:400], 50)", "batches(test[:50], 50)"),
        ("review.text for review in test[:20]]", "review.text for review in test[:4]]"),
    ],
    "13_find_and_point": [
        ("sentence_vectors(texts,", "sentence_vectors([text[:200] for text in texts],"),
        ("sentence_vectors(asked, quick=True)",
         "sentence_vectors(asked[:100], quick=True).repeat(6, 1)[: len(asked)]"),
        ("range(len(questions)), 120))", "range(len(questions)), 30))"),
        ("q for q in held_out if q.answers], 80)", "q for q in held_out if q.answers], 20)"),
        ("held_out if not q.answers], 80)", "held_out if not q.answers], 20)"),
    ],
    "14_gpt": [
        ("holmes_pages()[1][:6000]", "holmes_pages()[1][:600]"),
        ('stories("validation")[:6000]', 'stories("validation")[:600]'),
        ('train_rung("four heads", train, len(letters))',
         'train_rung("four heads", train, len(letters), steps=8)'),
        ('train_rung("residuals and feed-forward", train, len(letters))',
         'train_rung("residuals and feed-forward", train, len(letters), steps=8)'),
        ("train_letters(MyGPT(len(letters), 64, 4, 3, 256), train)",
         "train_letters(MyGPT(len(letters), 64, 4, 3, 256), train, steps=8)"),
        ("train_copier(seed=1)", "train_copier(seed=1, steps=8)"),
    ],
    "15_vision_transformer": [
        ('clothes("train", 1500)', 'clothes("train", 50)'),
        ("for _ in range(300):\n    rows", "for _ in range(30):\n    rows"),
    ],
    "16_long_context": [("steps=140, seed=0", "steps=20, seed=0")],
    "17_hear_the_genre": [
        ("train_genres(model, tables, windows, train)",
         "train_genres(model, tables, windows, train[::20])"),
        ("train_genres(clean_model, tables, windows, clean_train)",
         "train_genres(clean_model, tables, windows, clean_train[::20])"),
        ("clean_test[::2]", "clean_test[::10]"),
    ],
    "18_from_gpt_to_assistant": [
        ('stories("validation")[:3000]', 'stories("validation")[:600]'),
        ('instructions("unseen", 48, seed=5)', 'instructions("unseen", 12, seed=5)'),
        ("train(student, batches_of_pairs(student))",
         "train(student, batches_of_pairs(student)[:2])"),
        ("zip(batches, known))[:6]", "zip(batches, known))[:2]"),
        ("tqdm(range(8))", "tqdm(range(2))"),
        ("(len(train_pairs), (64,)", "(len(train_pairs), (16,)"),
        ("prompts, most=48", "prompts, most=8"),
        ("judged, most=48", "judged, most=8"),
    ],
    "19_a_real_model": [
        ("read(moon, parts, layers)[0, :-1], moon[0, 1:]",
         "read(moon[:, :12], parts, layers)[0, :-1], moon[0, 1:12]"),
        ("(8, None), (4, None), (4, 32), (3, 32)]", "(8, None)]"),
    ],
    "20_look_inside": [
        ("twice(seed, n=25, texts=2)", "twice(seed, n=8, texts=1)"),
        ("induction_scores(seed, n=25)", "induction_scores(seed, n=8)"),
        ("where_it_went(text) for text in TEXTS]", "where_it_went(text) for text in TEXTS[:2]]"),
        ("list(zip(ends, [*ends][1:]))", "list(zip([*ends][:3], [*ends][1:3]))"),
        ("for form in FORMS.values()]", "for form in [*FORMS.values()][:2]]"),
        ("def copied(n=500)", "def copied(n=50)"),
        (".repeat(1, 2)) for text in TEXTS]", ".repeat(1, 2)) for text in TEXTS[:1]]"),
        ("zip(words[::2], words[1::2])", "zip(words[:10:2], words[1:10:2])"),
        ("range(1500):\n    x = vectors", "range(100):\n    x = vectors"),
        ("start, None), key) for text in TEXTS]", "start, None), key) for text in TEXTS[:1]]"),
        ("[loss_from_10(text) for text in TEXTS]", "[loss_from_10(text) for text in TEXTS[:1]]"),
        ("for seed in range(3) for x in copies_without", "for seed in [0] for x in copies_without"),
        ("others(0)], seed) for seed in range(2)]", "others(0)], seed) for seed in [0]]"),
        ("for key in (1, 2, 5) for x in hidden_from", "for key in [5] for x in hidden_from"),
    ],
    "95_what_changed": [
        ("(seed, weight, steps=150)", "(seed, weight, steps=15)"),
        ("validation[:3000], story", "validation[:600], story"),
        ("n_tokens=80", "n_tokens=20"),
    ],
    "94_elsewhere": [
        ("for clip in clips}):", "for clip in clips})[:2]:"),
        ("digits_loss, 150, 6e-3", "digits_loss, 5, 6e-3"),
        ("protein_loss, 200, 3e-3", "protein_loss, 5, 3e-3"),
    ],
}  # fmt: skip
LIVE = "nbval-ignore-output"
# Before a cell that shows live results, once something was cut short.
NO_CLAIMS = 'import os; os.environ.pop("COURSE_STRICT", None)\n'
CLAIMS = 'import os; os.environ["COURSE_STRICT"] = "1"\n'


def cut(name, notebook):
    """Cut the long cells of a notebook short; what they show counts as live from then on.

    From the first of them on, no live cell asserts or claims anything: its numbers may be others.

    Parameters
    ----------
    name : str
        The notebook's, for instance "14_gpt"; one that isn't in the table stays as it is.
    notebook : NotebookNode
        As it is stored, or as its source describes it; changed in place.
    """
    if name not in SHORTER:
        return
    code = {cell.id: cell.source for cell in build.assemble(build.source_of(name)).cells}
    spoilt = False
    for cell in notebook.cells:
        if cell.cell_type != "code" or cell.id not in code:
            continue
        source, tags = code[cell.id], cell.metadata.get("tags", [])
        for whole, short in SHORTER[name]:
            source = source.replace(whole, short)
        shorter = source != code[cell.id]
        spoilt |= shorter
        if shorter or (spoilt and LIVE in tags):
            cell.source = NO_CLAIMS + without_assertions(source)
            cell.metadata["tags"] = sorted({*tags, LIVE})
        elif spoilt:
            cell.source = CLAIMS + cell.source


def without_assertions(source):
    """Leave out what a cell asserts of its results, which are those of too few steps."""
    lines = source.split("\n")
    for each in reversed(ast.parse(source).body):
        if isinstance(each, ast.Assert):
            del lines[each.lineno - 1 : each.end_lineno]
    return "\n".join(lines)
