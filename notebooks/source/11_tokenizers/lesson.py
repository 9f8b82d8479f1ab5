# %% [markdown]
# # Tokenizers
#
# How many *r*s are there in *strawberry*? You look at the letters and count three. The language models of 2023 could
# write a good essay, but many of them answered two. Today's mostly get it right, often by spelling the word out
# first.
#
# A language model never sees those letters. Every text first goes through a small program called a **tokenizer**,
# which cuts it into pieces, looks up each piece in a numbered list, and passes on only the numbers.
#
# Your Transformer in lesson 10 was given such numbers, and so are most of the language models from here to lesson 20.
# Today you'll write the program that produces them, and all you need is plain Python.

# %%
import re
from collections import Counter

import torch

from helpers import exercises
from helpers.data.stories import stories
from helpers.pretrained.minilm import load_minilm
from helpers.text.subwords import BytePairs, Unigram, WordPieces

minilm = load_minilm()

# %% tags=["hide-input"]
import json
import random

from IPython.display import display
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch.utils.flop_counter import FlopCounterMode

from helpers.data.ten_languages import PARAGRAPH
from helpers.models.gpt import GPT, GPTConfig
from helpers.pretrained.translator import load_translator
from helpers.text.tokenization import BytePairTokenizer
from helpers.widgets.merge_stepper import MergeStepper
from helpers.widgets.tokenizers_side_by_side import TokenizersSideBySide

torch.set_num_threads(1)


# %% [markdown] tags=["notes"]
# **Minute by minute** (50 minutes; every prediction: alone, then in pairs, then reveal)
#
# | minute | what | say, show, ask |
# |---|---|---|
# | 0 | hook | Have someone count the *r*s aloud. Then: "Could you still do it if I only told you the word's number in a dictionary?" |
# | 7 | 1, words or letters | Ask for words that no list has: names, typos, new words. Vote on the size, with a corner of the room for each answer. |
# | 16 | 2, byte pairs | Do the pencil exercise first, on the board. Ask: "Why not put every character in the list?" The second merge is the point of the section: count again! Two minutes with the stepper, with words from the room. |
# | 34 | 3, cutting | *great* with and without a space before the smiley. |
# | 37 | 4, batches | Draw three rows of different lengths on the board and have someone fill them up. |
# | 43 | 5, who pays | Ask: "Who decides which pieces there are?" With time to spare, open the first widget of *Practice* and have people type their own name and a sentence in their own language. |
#
# **If you're running late**: set the merge exercise as homework (the lesson goes on with the tested version).
#
# **Answers to expect.** Pencil: see the folded answer below it. "Why not put every character in the list?": there are
# about 160,000 of them, and new emoji are added every year. "Who decides which pieces there are?": a program does the
# counting, so in the end it's decided by whoever chose the text.
#
# **What people get wrong.** They take the runner-up pair without counting again. They think that every piece has a
# meaning, that a masked position costs nothing, or that the tokenizer is trained together with the model.

# %% tags=["prediction", "hide-input"]
berries = ["strawberry", "blueberry", "raspberry", "gooseberry"]
pieces_of = {word: minilm.tokens(word)[1:-1] for word in berries}
numbers_of = {word: minilm.encode([word])[0, 1:-1].tolist() for word in berries}
exercises.reveal(
    "pieces_of_strawberry",
    {1: "one", 2: "two", 3: "three", 10: "letters"}[len(pieces_of["strawberry"])],
)
notebook.table(
    [(w, " · ".join(pieces_of[w]), ", ".join(map(str, numbers_of[w]))) for w in berries],
    ["word", "MiniLM's pieces", "what the model gets"],
)
notebook.tell(
    """*Strawberry* is a single piece, so the model gets a single number, and nothing in that number says how the
    word is spelled. *Blueberry* is cut into two pieces and *raspberry* into three, where `##` marks a piece that
    continues a word. Nobody chose these cuts by hand, and no rule of English explains them."""
)
assert [len(pieces_of[w]) for w in berries[:3]] == [1, 2, 3]

# %% [markdown]
# A piece with a number is called a **token**, and the list of all pieces is the **vocabulary**. The vocabulary has to
# be fixed before the model is trained, because the model learns one vector per entry. Which pieces deserve a place in
# the list? Your program will decide.

# %% [markdown] warm_up=11
# ## 1. Words or letters?
#
# The obvious idea is to give every word a number, as we did with our toy corpus. Words that aren't in the list all
# get the number of one extra entry, `<unk>` for "unknown".
#
# ### Your turn (2 min)


# %% tags=["exercise"]
def words_to_ids(words, ids, unk_id):
    """words, {word: id}, the id for all other words -> list of ids"""
    return [ids.get(word, ...) for word in words]  # ← fill the gap


# %% [markdown]
# The toy corpus has only 150 words. Is one number per word good enough for real text? To find out, we list all the
# words in 7 MB of fairy tales, from Grimm to *Alice in Wonderland*. Then we turn to other pages of the same books and
# count the words that aren't in the list.


# %%
def words_of(text):
    return re.findall(r"[a-z]+(?:'[a-z]+)?", text.lower())


tales, unseen = stories("train"), stories("validation")
known_words = Counter(words_of(tales))
print(f"{len(known_words):,} different words in the tales")

# %% tags=["hide-input", "nbval-ignore-output"]
sentences = [s for s in re.split(r"(?<=[.!?])['\"”’]?\s+", unseen) if len(s.split()) > 2]
strange = [any(word not in known_words for word in words_of(s)) for s in sentences]
share = 100 * sum(strange) / len(sentences)
new_words = sorted(word for word in words_of(unseen) if word not in known_words)
per_word = 100 * len(new_words) / len(words_of(unseen))
print("some words that aren't in the list:", *sorted(dict.fromkeys(new_words), key=len)[-40::5])
notebook.tell(
    f"""Only {per_word:.0f}% of the words are new, but they turn up in {share:.0f}% of all sentences. To the model, all these
    words would be one word, “unknown”."""
)
assert 20 < share < 30 and 1.5 < per_word < 2.5

# %% [markdown]
# At the other extreme, every letter gets a number. The list is short and nothing is unknown any more, but a text
# becomes about five times as long, so attention has to compare 25 times as many pairs of positions.
#
# Modern models cut text into **pieces** instead. A frequent word is a piece of its own, a rare word is made of
# several pieces, and single letters cover whatever is left. How many pieces should there be? With more pieces, a text
# needs fewer tokens, but each token costs more, because the model's last layer has one row per piece (lesson 08).

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
largest = BytePairTokenizer.train(tales[:2_400_000].split("\n"), 16_000)
sizes = [500, 1_000, 2_000, 8_000, 16_000]
n_words = len(unseen.split())


def multiplications(vocab_size):
    """Count the multiplications per token of a small GPT, and those of its output layer."""
    config = GPTConfig(
        vocab_size=vocab_size, d_model=256, n_heads=4, n_layers=4, max_len=128, dropout=0.0
    )
    with FlopCounterMode(display=False) as counter:
        GPT(config).eval()(torch.zeros(1, 128, dtype=torch.long))
    return counter.get_total_flops() / 2 / 128, 256 * vocab_size


per_token = {size: multiplications(size) for size in sizes}
length = {
    size: sum(map(len, map(largest.first(size).encode, unseen.split("\n")))) / n_words
    for size in sizes
}
cost = {size: length[size] * per_token[size][0] / 1e6 for size in sizes}
cheapest = min(cost, key=cost.get)
exercises.reveal("cheapest_vocabulary", str(cheapest))
notebook.table(
    [(f"{size:,}", f"{length[size]:.2f}", f"{256 * size / 1e6:.2f} million",
      f"{100 * per_token[size][1] / per_token[size][0]:.0f}%", f"{cost[size]:.1f} million")
     for size in sizes],
    ["pieces", "tokens per word", "numbers in the output layer",
     "its share of the multiplications", "multiplications per word"],
)  # fmt: skip
notebook.tell(
    """Going from 500 pieces to 2,000 makes the text a third shorter. Going from 8,000 to 16,000 hardly changes its
    length but doubles the output layer. That's why the cheapest vocabulary is one in the middle. In a larger model
    the other layers cost more, so saving tokens matters more and a longer list pays off. GPT-2 has 50,257 pieces and
    Llama 3 has 128,256."""
)
assert cheapest == 2000 and 1.2 < length[16_000] < 1.3 and 2.2 < length[500] < 2.5
assert length[2000] / length[500] < 0.7 and length[16_000] / length[8000] > 0.93
assert per_token[16_000][1] / per_token[16_000][0] > 0.5

# %% [markdown]
# ## 2. Which pieces do we need?
#
# Frequent words should become single pieces, but nobody wants to choose them by hand. An old trick for making files
# smaller (Gage 1994) can do it for us. Find the two neighbouring symbols that occur together most often, give the
# pair a symbol of its own, and repeat. Applied to words, the trick is called **byte-pair encoding**, or BPE (Sennrich
# et al. 2016), and most language models use it.
#
# Say our text has four different words:
#
# | word | hat | that | chat | cat |
# |---|---|---|---|---|
# | occurs | 5 times | 4 times | 3 times | twice |
#
# **Pencil (2 min).** How often does each pair of neighbours occur? For instance, t + h occurs four times. Which
# pair is merged first?
#
# <details><summary>Compare</summary>
#
# a + t is merged first. It occurs in all four words, 5 + 4 + 3 + 2 = 14 times. The other counts are 12 for h + a (5 +
# 4 + 3), 4 for t + h, 3 for c + h and 2 for c + a.
#
# </details>

# %% tags=["prediction", "hide-input"]
four_words = ["hat"] * 5 + ["that"] * 4 + ["chat"] * 3 + ["cat"] * 2
first_two = list(BytePairs.train(four_words, 258).ranks)
assert first_two[0] == (b"a", b"t")
exercises.reveal("second_merge", "_".join(piece.decode() for piece in first_two[1]))
notebook.tell(
    """After the first merge no *a* is left on its own, so h + a doesn't exist any more. That's why the pairs have to
    be counted again after every merge. Step through the rest, then try words of your own. A word that you type
    twice counts twice."""
)
display(MergeStepper(step=1))

# %% [markdown]
# Now write it yourself. Your functions will work on lists of ids, one list per word, because a computer stores
# letters as numbers anyway. The letter *a* is 97 and *t* is 116, and each new piece gets the next free number.
#
# ### Your turn (3 min)


# %% tags=["exercise"]
def best_pair(words, counts):
    """each word once, as a list of ids, and how often it occurs -> [left, right]"""
    pairs = Counter()
    for ids, count in zip(words, counts):
        for pair in zip(ids, ...):  # ← the right neighbours
            pairs[pair] += count
    return list(max(pairs, key=lambda pair: (..., -pair[0], -pair[1])))  # ← what should be largest


# %% [markdown]
# ### Your turn (5 min)


# %% tags=["exercise"]
def merge_pair(ids, pair, new_id):
    """ids, (left, right), new id -> ids in which new_id has replaced the pair"""
    ...


# %% [markdown]
# With these two functions, the whole training is a short loop.

# %%
best, merge = exercises.mine("best_pair"), exercises.mine("merge_pair")
words, counts = [list(word.encode()) for word in ("hat", "that", "chat", "cat")], [5, 4, 3, 2]
for new_id in range(256, 260):
    pair = best(words, counts)
    words = [merge(ids, tuple(pair), new_id) for ids in words]
    print(f"{pair} becomes {new_id}:", words)

# %% [markdown]
# The new ids begin at 256, because 0 to 255 are taken by the pieces that we start from. You might expect those to be
# characters, but the world's scripts have about 160,000 characters, far too many for a list. We start from **bytes**
# instead. A computer stores every text as a sequence of bytes, and a byte has only 256 possible values. A plain
# letter such as *e* takes one byte. *é* takes two, and so do the letters of Greek, Cyrillic, Arabic and Hebrew. In
# most other scripts a character takes three, and an emoji usually takes four.
#
# The course's `BytePairs` runs the same loop on a real text. It splits the text into words first, because no piece
# should cross from one word into the next, and it counts a space as part of the word that follows.

# %%
pieces = BytePairs.train(tales[:100_000].split("\n"), vocab_size=500)
print(b" | ".join(pieces.vocabulary[256:]).decode()[:330], "…")

# %% tags=["hide-input"]
theirs = Tokenizer(models.BPE())
theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
theirs.train_from_iterator(
    tales[:100_000].split("\n"),
    trainers.BpeTrainer(
        vocab_size=500, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    ),
)
assert {b" the", b" and", b"ing", b" said"} <= set(pieces.vocabulary)
hostile = ["", "   ", " trailing ", "naïve 🙂👍🏽 日本語", "\n\t\x00", "don't 12345 £½", "x" * 40]
for text in [*unseen.split("\n")[:30], *hostile]:
    assert (
        theirs.encode(text).ids == pieces.encode(text)
        and pieces.decode(pieces.encode(text)) == text
    )

# %% [markdown]
# These are the pieces in the order in which they were learned. Nobody told the loop anything about English, and yet
# it has found *the*, *and*, *ing* and *said*. The widely used `tokenizers` library learns exactly the same pieces
# from this text.
#
# ## 3. How is a new word cut?
#
# Suppose somebody types a word that isn't in the list. BPE starts from the word's bytes and replays its own training
# on them. Of all the merges that are possible, it makes the one that was learned **first**. Then it looks again,
# because the new piece might make another merge possible. The order matters. If the merges were made in any other
# order, some words would be cut differently from the way they were cut in training.
#
# Even a smiley that never occurred in the tales can be cut, because its four bytes are all in the list. With a
# byte-level vocabulary nothing is ever “unknown”, and decoding returns exactly what you typed.

# %%
smile = pieces.encode("🙂")
print("ids:", smile, "→ decoded:", pieces.decode(smile))

# %% tags=["hide-input"]
assert len(smile) == 4 and pieces.decode(smile) == "🙂" and "🙂" not in tales

# %% [markdown]
# MiniLM uses BERT's recipe, **WordPiece**, whose pieces are built from characters instead of bytes. WordPiece cuts a
# word from the left and always takes the **longest** piece in the list that fits. After the first piece, only those
# marked with `##` are allowed. A single unknown character is enough to lose the whole word:

# %%
for text in ("unbelievable strawberries", "great 🙂", "great🙂"):
    print(minilm.tokens(text)[1:-1])

# %% tags=["hide-input"]
assert minilm.tokens("great 🙂")[1:-1] == ["great", "[UNK]"]
assert minilm.tokens("great🙂")[1:-1] == ["[UNK]"]
by_hand = WordPieces(minilm.tokenizer.get_vocab())
for text in [*unseen.split("\n")[:30], *hostile, "great🙂", "RÉSUMÉ"]:
    assert by_hand.cut(text) == minilm.tokenizer.encode(text, add_special_tokens=False).tokens

# %% [markdown]
# Without the space, the model never finds out that anything was great.
#
# The **Unigram** model (Kudo 2018) cuts words in yet another way. It assigns a probability to every piece and chooses
# the likeliest of all the cuts.
#
# ## 4. What exactly does the model get?
#
# Ids alone don't tell the model where one text ends and the next begins. Here are a question and a text as MiniLM
# will read them in lesson 13.

# %%
encoding = minilm.tokenizer.encode("Who barks?", "The dog barks.")
print("tokens:        ", encoding.tokens)
print("ids:           ", encoding.ids)
print("token_type_ids:", encoding.type_ids)

# %% [markdown]
# `[CLS]` and `[SEP]` are **special tokens**. They have entries in the vocabulary, but they never stand for a part of
# the text. `[CLS]` comes first, and its output vector can represent the whole text. `[SEP]` marks the end of each
# text. The `token_type_ids`, also called **segments**, are 0 for the tokens of the first text and 1 for those of the
# second, and the model has one learned vector per segment.
#
# Texts in a batch have different lengths. The shorter ones are filled up with `[PAD]`, and an **attention mask**
# tells the model which positions hold a real token. In lesson 04 we called it the padding mask. A text can also be
# too long. MiniLM has learned vectors for just 512 positions, so whatever comes after the 512th token has to be cut
# off. This is called **truncation**.
#
# ### Your turn (4 min)


# %% tags=["exercise"]
def pad_and_mask(rows, pad_id):
    """lists of ids of different lengths -> ids (B, S), mask (B, S) bool, True = a token"""
    ...


# %% [markdown]
# In many notebooks you'll see `padding="max_length"`, which pads *every* text to 512 tokens. The mask hides the
# padding, so the result doesn't change. But the model still computes a vector for every padded position in every
# layer, so it's better to pad to the longest text *of the batch*. Lesson 12 measures the difference in its
# *Going deeper*.

# %% [markdown]
# ## 5. Who pays?
#
# Many services charge per token, and every token takes time to process. Does it take more tokens to say something in
# Hindi than in English? To find out, we wrote a short paragraph in English and translated it into nine other
# languages. Here's how it begins in English and in Hindi.

# %%
print(PARAGRAPH["English"][:101], "…\n")
print(PARAGRAPH["Hindi"][:90], "…")

# %% tags=["prediction", "hide-input", "nbval-ignore-output"]
translator = load_translator()
cutters = {
    "characters": list,
    "translator": lambda text: translator.tokenizer.tokens(translator.tokenizer.encode(text)),
    "MiniLM": lambda text: minilm.tokenizer.encode(text, add_special_tokens=False).tokens,
    "tales": lambda text: largest.tokens(largest.encode(text)),
}
n_english = len(PARAGRAPH["English"].split())
counted = {
    language: {name: len(cut(text)) / n_english for name, cut in cutters.items()}
    for language, text in PARAGRAPH.items()
}
unknown = {
    language: 100 * cutters["MiniLM"](text).count("[UNK]") / len(cutters["MiniLM"](text))
    for language, text in PARAGRAPH.items()
}
ratio = counted["Hindi"]["tales"] / counted["English"]["tales"]
exercises.reveal("hindi_tokens", ratio)
notebook.table(
    [(language, *(f"{row[name]:.1f}" for name in cutters),
      f"{unknown[language]:.0f}%" if unknown[language] else "")
     for language, row in counted.items()],
    ["tokens per English word, in", "characters", "translator's pieces", "MiniLM's pieces",
     "pieces of the tales", "unknown to MiniLM"],
)  # fmt: skip
notebook.tell(
    """All ten texts have the same content, so we divide each count by the number of *English* words. Look at the
    pieces of the tales first. English needs little more than one token per word, and the other languages in Latin
    letters need two or three times as many. Greek and Russian need about eight times as many, because their letters
    take two bytes each and no merge was ever learned from them. Hindi needs more than ten times as many, because its
    characters take three bytes each.

    The translator needs about as many tokens for French as for English, because it learned its pieces from both.
    MiniLM seems to do well with many scripts, because its list contains their characters as single pieces. But more than
    half of its tokens for Chinese are “unknown”, so most of that text never reaches the model."""
)
assert 9 < ratio < 12 and counted["English"]["tales"] < 1.3
assert all(
    1.8 < counted[l]["tales"] / counted["English"]["tales"] < 3.2
    for l in ("French", "Spanish", "German", "Finnish", "Turkish")
)
assert all(7 < counted[l]["tales"] / counted["English"]["tales"] < 9 for l in ("Greek", "Russian"))
assert (
    unknown["Chinese"] > 50
    and counted["French"]["translator"] / counted["English"]["translator"] < 1.1
)

# %% [markdown] quiz="letters_of_a_token"
# Most of the difference comes from the text that the tokenizer was trained on. The rest comes from the languages
# themselves, because some scripts need more bytes per character than others, and languages differ in how they write
# their words. Newer vocabularies are larger and learned from texts in many languages, which narrows the gap.

# %% [markdown]
# <details><summary>Fine print</summary>
#
# MiniLM turns capitals into lower case and drops accents, so it can't tell *Polish* from *polish*, or *résumé* from
# *resume*. The tokenizer of the tales makes every digit a token of its own, but only because there are so few numbers
# in the tales.
#
# “Unknown to MiniLM” counts tokens, and an unknown token can stand for several characters. Our ten paragraphs are only
# one text in ten languages. Petrov et al. (2023) compared thousands of sentences and found that one language could need
# up to fifteen times as many tokens as another. Even when every byte or every character was a token of its own, one
# language could still need over four times as many as another. A separate tokenizer for each language doesn't close the
# gap completely either (Arnett et al. 2025).
#
# You'll often meet Unigram in **SentencePiece** (Kudo and Richardson 2018), a library that treats the space as one
# more symbol, written ▁, and therefore needs no rule for where a word begins. T5 uses the library with Unigram, and
# the first Llamas used it with BPE.
#
# How WordPiece *learns* its list is less clear than how it cuts. Its inventors merged the pair that raised the
# likelihood of the training text most (Schuster and Nakajima 2012). The code that made BERT's list was never
# published, and the `tokenizers` library trains WordPiece with plain counts.
#
# </details>

# %% [markdown]
# ### What to take away
#
# - A tokenizer turns text into ids. Its vocabulary is learned from a large text before the model is trained.
# - More pieces mean fewer tokens but a larger output layer.
# - Byte-pair encoding merges the most frequent pair, counts again, and repeats. To cut a word, it replays the
#   merges in order.
# - WordPiece takes the longest piece from the left, Unigram the likeliest cut.
# - If the pieces are built from bytes, no text is ever unknown.
# - A model reads ids, an attention mask and segments. Pad to the longest text in the batch.
# - How many tokens a language needs depends mostly on the text that the pieces were learned from, and partly on its
#   script and the way it writes words.
#
# $$\text{next merge} = \underset{(a,\,b)}{\arg\max}\ \text{count}(a\,b)$$
#
# You can now turn any text into ids. In **lesson 12** they go into BERT, an encoder that learns about words by
# filling gaps.

# %% [markdown]
# ## Practice
#
# About 35 minutes, easiest first. Begin by typing something of your own, perhaps your name, a sentence in another
# language, a large number, a word in capitals, an accent or two spaces. Which of the tokenizers changes your text,
# and which one loses a part of it?

# %% tags=["hide-input", "nbval-ignore-output"]
TokenizersSideBySide(cutters)

# %% [markdown]
# Then try 12345. MiniLM cuts it into `123` and `##45`, because these two happened to be frequent enough in the text
# that its list was made from. Imagine having to add numbers that are cut up like this! Today's models cut numbers by
# a rule instead. Llama 3 reads groups of up to three digits, and SmolLM, which you'll meet in lesson 19, reads single
# digits.

# %% tags=["hide-input"] quiz="shape_of_a_batch three_recipes what_bytes_promise shrink_the_vocabulary"
assert minilm.tokens("12345")[1:-1] == ["123", "##45"]
assert minilm.tokens("Polish résumé") == minilm.tokens("polish resume")

# %% [markdown]
# ### Find the bug (4 min)
#
# The function below cuts a word into byte pairs. It cuts *wolf* correctly but fails on other words, because it has
# two mistakes. In the table under it, ▁ stands for the space in front of the word.


# %% tags=["exercise"]
def impatient_cut(ids, merges):
    """ids of bytes, {(left, right): new id}, smaller = learned earlier -> ids of pieces"""
    known = [pair for pair in zip(ids, ids[1:]) if pair in merges]
    while known:
        first = known[0]
        ids = merge(ids, first, merges[first])
        known = known[1:]
    return ids


# %% tags=["trial", "hide-input"]
id_merges = {
    (pieces.ids[left], pieces.ids[right]): pieces.ids[left + right] for left, right in pieces.ranks
}
both_cuts = {}
for word in (" the", " wolf", " princess", " mother"):
    start = [pieces.ids[bytes([byte])] for byte in word.encode()]
    both_cuts[word.strip()] = pieces.encode(word), impatient_cut(start, id_merges)
named = lambda ids: " · ".join(pieces.vocabulary[i].decode().replace(" ", "▁") for i in ids)
notebook.table(
    [(word, *map(named, cuts)) for word, cuts in both_cuts.items()],
    ["word", "as in training", "the function above"],
)


# %% tags=["exercise"]
def wordpiece_encode(word, ids, unk_id):
    """a word, {piece: id} with ## inside words -> ids of the longest pieces, or [unk_id]"""
    ...


# %% [markdown]
# The next exercise takes more thought. Unigram compares *all* cuts of a word, and a word of 20 letters has half a
# million of them. The Viterbi algorithm finds the best cut without trying them all. It relies on a simple fact. If
# you take the last piece off the best cut, what remains is the best cut of the rest of the word.


# %% tags=["exercise"] quiz="the_wrong_tokenizer"
def likeliest_cut(word, log_probs):
    """a word, {piece: log probability} -> highest log probability of a cut, places where its pieces end"""
    ...


# %% [markdown] quiz="a_fair_price"
# To discuss in pairs:

# %% [markdown]
# ## Going deeper
#
# Optional, about ten minutes. Nothing later depends on it.
#
# ### A space at the end
#
# You might have read that a prompt should never end with a space. Compare the tokens of *once upon a* and *once upon
# a␣*, and you'll see why.

# %%
for prompt in ("once upon a time", "once upon a", "once upon a "):
    print(repr(prompt), "→", largest.tokenizer.encode(f" {prompt}").tokens)

# %% tags=["hide-input"]
sample = [largest.tokenizer.encode(line).tokens for line in tales[:400_000].split("\n")]
n_tokens = sum(map(len, sample))
lone = sum(tokens.count("Ġ") for tokens in sample)
print(f"in the tales, {lone} of {n_tokens:,} tokens are a single space")
assert lone == 0 and n_tokens > 50_000

# %% [markdown]
# The library writes a space as `Ġ`, and you can see that a space belongs to the *next* word, as in `Ġtime`. If your
# prompt ends with a space, that space becomes a token of its own, one that never occurs in these tales. A model
# trained on them wouldn't know what to do with it. What's more, the model can no longer continue with `Ġtime`,
# because the space has already been used up.
#
# ### Unigram, and cutting at random
#
# Byte-pair encoding starts from single bytes and builds longer pieces. Unigram works from the other end. It starts
# from a list of pieces that is far too long and assigns a probability to each piece. Then it drops pieces until the
# list is short enough, beginning with those whose removal lowers the probability of the text least. Here the library
# does the training, and our own code does the cutting.

# %% tags=["nbval-ignore-output"]
unigram = Tokenizer(models.Unigram())
unigram.pre_tokenizer = pre_tokenizers.Metaspace()
trainer = trainers.UnigramTrainer(
    vocab_size=2_000, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
)
unigram.train_from_iterator(tales[:300_000].split("\n"), trainer)
log_probs = dict(json.loads(unigram.to_str())["model"]["vocab"][1:])
ours = Unigram(log_probs)
print(ours.cut("the unbelievable strawberries"))

# %% tags=["hide-input", "nbval-ignore-output"]
for text in [*unseen.split("\n")[:30], *hostile]:
    assert ours.cut(text) == unigram.encode(text).tokens

# %% [markdown]
# Because every cut has a probability, we can also *draw* one. A model that is trained on such cuts sees a word in
# several forms and learns that they all mean the same. This is called **subword regularization** (Kudo 2018). The
# counterpart for byte pairs is BPE-dropout (Provilkov et al. 2020), which our translator was trained with.

# %% tags=["nbval-ignore-output"]
rng = random.Random(0)
drawn = Counter(" · ".join(ours.sample("▁strawberries", 0.5, rng)) for _ in range(300))
for cut, times in drawn.most_common(4):
    print(f"{times:>4} times  {cut}")

# %% tags=["hide-input"]
assert len(drawn) > 5 and all(cut.replace(" · ", "") == "▁strawberries" for cut in drawn)

# %% [markdown]
# **References**
#
# - Gage (1994), "A New Algorithm for Data Compression", The C Users Journal 12(2).
# - Sennrich, Haddow, Birch (2016), "Neural Machine Translation of Rare Words with Subword Units", arXiv:1508.07909.
# - Schuster, Nakajima (2012), "Japanese and Korean Voice Search", ICASSP.
# - Kudo (2018), "Subword Regularization: Improving Neural Network Translation Models with Multiple Subword Candidates",
#   arXiv:1804.10959; Kudo, Richardson (2018), "SentencePiece", arXiv:1808.06226.
# - Provilkov, Emelianenko, Voita (2020), "BPE-Dropout: Simple and Effective Subword Regularization", arXiv:1910.13267.
# - Radford et al. (2019), "Language Models are Unsupervised Multitask Learners" (GPT-2), section 2.2.
# - Devlin et al. (2019), "BERT: Pre-training of Deep Bidirectional Transformers", arXiv:1810.04805.
# - Petrov, La Malfa, Torr, Bibi (2023), "Language Model Tokenizers Introduce Unfairness Between Languages",
#   arXiv:2305.15425; Arnett, Chang, Biderman, Bergen (2025), "Explaining and Mitigating Crosslingual Tokenizer
#   Inequities", arXiv:2510.21909.
