"""Lesson 11, tokenizers."""

import math
from collections import Counter
from itertools import pairwise

import torch

from helpers.exercises.model import Exercise, Mistake


def words_to_ids(words, ids, unk_id):
    """Look up each word's number; words that aren't in the list share one."""
    return [ids.get(word, unk_id) for word in words]


def best_pair(words, counts):
    """Find the most frequent pair of neighbours; among equals, the smallest."""
    pairs = Counter()
    for ids, count in zip(words, counts, strict=True):
        for pair in zip(ids, ids[1:], strict=False):
            pairs[pair] += count
    return list(max(pairs, key=lambda pair: (pairs[pair], -pair[0], -pair[1])))


def merge_pair(ids, pair, new_id):
    """Put `new_id` wherever the two ids of `pair` are neighbours, from left to right."""
    merged, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


def impatient_cut(ids, merges):
    """Cut one word: make the merge that was learned first, as long as there is one."""
    known = [pair for pair in pairwise(ids) if pair in merges]
    while known:
        first = min(known, key=merges.get)
        ids = merge_pair(ids, first, merges[first])
        known = [pair for pair in pairwise(ids) if pair in merges]
    return ids


def pad_and_mask(rows, pad_id):
    """Fill rows of ids up to the longest: ids (B, S) and a mask (B, S), True where there's a token."""
    longest = max(len(row) for row in rows)
    ids = torch.tensor([row + [pad_id] * (longest - len(row)) for row in rows])
    mask = torch.tensor([[i < len(row) for i in range(longest)] for row in rows])
    return ids, mask


def wordpiece_encode(word, ids, unk_id):
    """Take the longest known piece from the left; ## marks a piece inside the word."""
    found, start = [], 0
    while start < len(word):
        prefix, end = "##" if start else "", len(word)
        while end > start and prefix + word[start:end] not in ids:
            end -= 1
        if end == start:
            return [unk_id]
        found.append(ids[prefix + word[start:end]])
        start = end
    return found


def likeliest_cut(word, log_probs):
    """Find the cut with the highest probability: its log, and where its pieces end."""
    best, begins = [0.0], [0]
    for end in range(1, len(word) + 1):
        known = [i for i in range(end) if word[i:end] in log_probs]
        scores = [best[i] + log_probs[word[i:end]] for i in known]
        best.append(max(scores))
        begins.append(known[scores.index(max(scores))])
    ends, end = [], len(word)
    while end > 0:
        ends.insert(0, end)
        end = begins[end]
    return best[-1], ends


def _draw_look_up(generator):
    first = {"the": 7, "fox": 4, "sees": 9, "a": 5, "hen": 11}
    other = {"a": 0, "the": 3, "hen": 8, "owl": 6, "sees": 4, "fox": 10}
    return [
        (["the", "emu", "sees", "the", "fox"], first, 2),
        (["a", "gnu", "sees", "an", "owl", "a"], other, 1),
        (["the", "Hen", "sees", "a", "fox"], other, 5),
        (["newts", "sees", "the", "hen", "the", "newts"], first, 3),
    ]


def _ids(generator, length, low=0, high=4):
    return torch.randint(low, high, (length,), generator=generator).tolist()


def _draw_words(generator):
    yield [[1, 2, 3], [2, 3]], [1, 4]
    yield [[5, 5, 7], [7, 5, 9, 7, 5], [9, 8]], [2, 2, 3]
    for n in (2, 3, 3, 4, 4, 4, 5, 5, 5, 5, 5, 6, 6):
        words = [_ids(generator, length) for length in _ids(generator, n, 2, 7)]
        yield words, _ids(generator, n, 1, 6)


MERGES = {(1, 2): 10, (3, 1): 11, (10, 3): 12, (2, 3): 13, (12, 11): 14, (2, 2): 15, (11, 2): 16}


def _draw_cut(generator):
    fixed = [([3, 1, 2], MERGES), ([1, 2, 3, 3, 1, 4], MERGES), ([2, 3, 1, 2, 2], MERGES)]
    shifted = {(2, 3): 20, (1, 2): 21, (1, 20): 22, (3, 3): 23, (22, 3): 24, (21, 3): 25}
    return fixed + [(_ids(generator, n, 1, 4), m) for m in (MERGES, shifted) for n in (6, 8, 9)]


PIECES = ["un", "able", "##able", "##believ", "play", "##ing", "##s", "##in", "##g", "##a", "p", "##b",
          "##le", "a", "##ble", "##l", "##ay", "u", "##n", "##e", "pl", "s", "##p", "playi", "##ng"]  # fmt: skip


def _draw_wordpiece(generator):
    order = torch.randperm(len(PIECES), generator=generator).tolist()
    first = {piece: 5 + i for i, piece in enumerate(PIECES)}
    other = {PIECES[i]: 40 + place for place, i in enumerate(order)}
    words = ["unable", "unbelievable", "playing", "plays", "unplayable", "playz", "spa", "zap",
             "able"]  # fmt: skip
    dead_end = {"ab": 5, "a": 6, "##bc": 7, "##b": 8, "abd": 9}  # after the longest piece, ab
    special = [
        ("abc", dead_end, 2),
        ("lea", first, 1),  # ##le, but no l to begin with
        ("play.", {**first, "##.": 3}, 1),
        ("Unable", first, 1),
        ("Plays", {**other, "P": 4, "##lay": 2}, 3),
    ]
    return [(w, first, 1) for w in words[:5]] + [(w, other, 3) for w in words] + special


def _draw_log_probs(generator):
    pieces = ["a", "b", "c", "ab", "ba", "bc", "abc", "bab", "ca", "aba", "cab", "abab"]
    yield "ab", {"a": -1.0, "b": -1.2, "ab": -2.6}
    yield "aba", {"a": -2.5, "b": -1.4, "ab": -2.0, "ba": -2.2}
    for word in ("abab", "cabab", "abcab", "babcaba", "ababcabab"):
        sizes = torch.rand(len(pieces), generator=generator).tolist()
        pairs = zip(pieces, sizes, strict=True)
        yield word, {p: -1.5 - 0.9 * len(p) ** 0.7 - 1.6 * r for p, r in pairs}


# Wrong answers that no edit makes.


def _from_left_once(ids, merges):
    for pair in list(pairwise(ids)):
        if pair in merges:
            ids = merge_pair(ids, pair, merges[pair])
    return ids


def _shortest_piece(word, ids, unk_id):
    found, start = [], 0
    while start < len(word):
        prefix = "##" if start else ""
        ends = [e for e in range(start + 1, len(word) + 1) if prefix + word[start:e] in ids]
        if not ends:
            return [unk_id]
        found.append(ids[prefix + word[start : ends[0]]])
        start = ends[0]
    return found


def _longest_first(word, log_probs):
    total, ends, start = 0.0, [], 0
    while start < len(word):
        end = max(e for e in range(start + 1, len(word) + 1) if word[start:e] in log_probs)
        total += log_probs[word[start:end]]
        ends.append(end)
        start = end
    return total, ends


def _padded_left(rows, pad_id):
    ids, mask = pad_and_mask([row[::-1] for row in rows], pad_id)
    return ids.flip(1), mask.flip(1)


EVERY_PAIR = "Both ids have to match, the left one and the right one."
NO_FIT = "If the rest of a word can't be cut, the whole word is unknown: return [unk_id] and nothing else."

# fmt: off
EXERCISES = [
    Exercise(
        name="words_to_ids", title="words to ids",
        task="Look up the id of every word. Words that aren't in the dictionary all get unk_id. A dictionary's .get(key, default) returns the default if the key is missing.",
        minutes=2, difficulty=1, importance=3,
        reference=words_to_ids, draw=_draw_look_up,
        mistakes=[
            Mistake("unknown words dropped", "for word in words", "for word in words if word in ids",
                    "Unknown words are left out, so the sentence becomes shorter and the model can't even see that something is missing. Give them unk_id."),
            Mistake("always 0", "ids.get(word, unk_id)", "ids.get(word, 0)",
                    "Unknown words get 0, whatever unk_id is. In many vocabularies 0 is the padding."),
            Mistake("new id for an unknown word", "ids.get(word, unk_id)", "ids.get(word, len(ids))",
                    "The id of an unknown word is len(ids) here, the number of entries. The model may have no vector for this id, or one that belongs to another word. Use unk_id."),
            Mistake("all unknown", "ids.get(word, unk_id)", "unk_id",
                    "Every word is unknown here. Look it up first: ids.get(word, unk_id)."),
            Mistake("each word once", "for word in words", "for word in dict.fromkeys(words)",
                    "A word that occurs twice is looked up once. The sentence has to keep its length."),
        ],
        also_right=[
            lambda words, ids, unk_id: torch.tensor([{**dict.fromkeys(words, unk_id), **ids}[w] for w in words]),
        ],
        hints=["ids.get(word) returns the id, or None if the word isn't in the dictionary. What should it return then?",
               "ids.get(word, unk_id)"],
        look_at="All unknown words share one id, and so one vector. Whatever set them apart is lost at this line.",
    ),
    Exercise(
        name="best_pair", title="the most frequent pair",
        task="words holds every word once, as a list of ids, and counts says how often each word occurs. Return the pair of neighbouring ids that occurs most often. If two pairs are equally frequent, take the one with the smaller ids. The minus signs in the last line take care of that.",
        minutes=3, difficulty=1, importance=5,
        reference=best_pair, draw=_draw_words,
        mistakes=[
            Mistake("each word once", "+= count", "+= 1",
                    "Here every word counts once, however often it occurs. A pair inside a frequent word should count as often as the word does."),
            Mistake("overwritten", "+= count", "= count",
                    "Each count replaces the one before, so only the last word with this pair counts. Add them up with +=."),
            Mistake("paired with itself", "ids[1:]", "ids",
                    "Each id is paired with itself. Its right neighbour comes from the list without its first id, ids[1:]."),
            Mistake("order forgotten", "pairs[pair] += count", "pairs[min(pair), max(pair)] += count",
                    "The pairs (1, 2) and (2, 1) share one count. Order matters: *at* and *ta* are different pieces."),
            Mistake("ties to the larger", "-pair[0], -pair[1]", "pair[0], pair[1]",
                    "Among equally frequent pairs this takes the largest. The tie goes to the smallest, so both ids need a minus sign."),
            Mistake("counts ignored", "(pairs[pair], -pair[0], -pair[1])", "(-pair[0], -pair[1])",
                    "The counts aren't used, so this is simply the smallest pair."),
            Mistake("the largest ids", "(pairs[pair], -pair[0], -pair[1])", "pair",
                    "The counts aren't used, so this is simply the pair with the largest ids. The tuple has to begin with pairs[pair]."),
            Mistake("across words", lambda words, counts: best_pair(
                        [[i for ids, n in zip(words, counts, strict=True) for i in ids * n]], [1]),
                    "The words are joined first, so the end of one and the beginning of the next count as a pair. No piece crosses from one word into the next, so count inside each word."),
        ],
        also_right=[
            lambda words, counts: (lambda pairs: min(pairs, key=lambda p: (-pairs[p], p)))(
                Counter({p: sum(c * list(pairwise(w)).count(p) for w, c in zip(words, counts, strict=True))
                         for w in words for p in pairwise(w)})
            ),
        ],
        hints=["ids[1:] is the list without its first id. Lay it alongside ids, and every id is paired with its right neighbour.",
               "max compares tuples by their first entry, so the count has to come first.",
               "zip(ids, ids[1:]), and pairs[pair] in the last line."],
        look_at="zip stops at the shorter list, so the last id, which has no right neighbour, is left out without a special case.",
    ),
    Exercise(
        name="merge_pair", title="merge a pair",
        task="Go through ids from left to right. Wherever the first id of pair is followed by the second, put new_id in their place. In [4, 4, 4] the pair (4, 4) is merged once, and the last 4 stays.",
        minutes=5, difficulty=2, importance=5,
        reference=merge_pair, draw=lambda generator: [
            ([7, 1, 2, 5, 1, 2], (1, 2), 300),
            ([4, 4, 4, 9, 4], (4, 4), 256),
            ([2, 1, 2, 1, 2, 2], (2, 1), 301),
            ([8, 3, 1, 3], (3, 8), 270),
            ([6], (6, 6), 280),
            ([1, 12, 2, 1, 21, 11, 2, 1, 2], (1, 2), 303),  # 1 21 is no 1 2, as text would have it
            *((_ids(generator, 9, 0, 3), p, 260 + p[0]) for p in ((0, 1), (2, 0), (1, 1)))],
        mistakes=[
            Mistake("right piece kept", "i += 2", "i += 1",
                    "After a merge your loop looks at the right-hand id once more, so that id stays in the list. A merge uses up both ids, so move on by two."),
            Mistake("overlapping pairs", "i += 2", "i += 1 + (tuple(ids[i + 1 : i + 3]) != pair)",
                    "In 7 7 7 both pairs (7, 7) are merged, although they share an id. Once an id has been merged, it can't be part of another pair."),
            Mistake("only the first", "            i += 2", "            return merged + ids[i + 2 :]",
                    "Only the first occurrence is merged. Go on until the end of the list."),
            Mistake("either order", "tuple(ids[i : i + 2]) == pair", "sorted(ids[i : i + 2]) == sorted(pair)",
                    "The pair is merged in either order. (1, 2) and (2, 1) spell different pieces."),
            Mistake("list against tuple", "tuple(ids[i : i + 2]) == pair", "ids[i : i + 2] == pair",
                    "Nothing is merged, so the comparison is never true. Are you comparing a list with a tuple? The two are never equal. Write tuple(ids[i : i + 2]) == pair."),
            Mistake("left id alone", "tuple(ids[i : i + 2]) == pair", "ids[i] == pair[0]", f"Only the left id is compared. {EVERY_PAIR}"),
            Mistake("last id lost", "while i < len(ids):", "while i < len(ids) - 1:",
                    "The last id gets lost unless it's part of a merge. Nothing follows it, but it still has to be copied, so go on while i < len(ids)."),
            Mistake("added behind the pair", "merged.append(new_id)", "merged += [*pair, new_id]",
                    "The pair stays and the new id is added to it. It should take the pair's place."),
        ],
        also_right=[lambda ids, pair, new_id: _merged_by_index(ids, pair, new_id)],
        hints=["A for loop can't skip an element. A while loop with its own i can.",
               "At each i there are two cases: ids[i] and ids[i + 1] are the pair (append new_id, move on by two), or they aren't (append ids[i], move on by one).",
               "if tuple(ids[i : i + 2]) == pair: merged.append(new_id); i += 2, else: merged.append(ids[i]); i += 1"],
        look_at="At the last id, ids[i : i + 2] holds a single id, so it can't be equal to a pair and needs no special case.",
    ),
    Exercise(
        name="impatient_cut", title="find the bug: the impatient cut",
        task="The dictionary merges maps each pair to its new id. The smaller the new id, the earlier the merge was learned. To cut a word, always make the merge that was learned first, until none is possible. Compare the printed results, then fix the two mistakes.",
        minutes=4, difficulty=3, importance=5,
        reference=impatient_cut, draw=_draw_cut,
        mistakes=[
            Mistake("leftmost pair first", "min(known, key=merges.get)", "known[0]",
                    "The leftmost known pair is merged first. The merge that was learned first should come first, the one with the smallest new id: min(known, key=merges.get)."),
            Mistake("new pairs never seen", "        known = [pair for pair in pairwise(ids) if pair in merges]", "        known = [pair for pair in known if pair != first]",
                    "The list of known pairs is made once, so a pair that contains a freshly merged piece is never found. Look for known pairs again after every merge."),
            Mistake("last learned first", "min(known, key=merges.get)", "max(known, key=merges.get)",
                    "The merge that was learned last is made first. Take the smallest new id."),
            Mistake("smallest ids first", "min(known, key=merges.get)", "min(known)",
                    "This takes the pair with the smallest ids. It should take the pair that was learned first: key=merges.get."),
            Mistake("one merge only", "while known:", "if known:",
                    "Only one merge is made. Go on as long as there's a known pair."),
            Mistake("still as it was", _from_left_once,
                    "Compare the two columns of the table, piece by piece. Which merge should be made first? And which new pairs does it create?"),
        ],
        also_right=[lambda ids, merges: _by_rank(ids, merges)],
        hints=["Which of the known pairs did training merge first? And which one does known[0] take?",
               "After a merge, ids has changed. Is the list of known pairs still right?",
               "first = min(known, key=merges.get), and at the end of the loop, build known again just as you did above it."],
        look_at="The same line builds the list before the loop and at its end. Every merge can create a pair that wasn't there before.",
    ),
    Exercise(
        name="pad_and_mask", title="a batch with its attention mask",
        task="Fill the rows with pad_id on the right, up to the longest row of this batch. Return the ids as a tensor (B, S) and a boolean mask (B, S) that is True where there's a token and False on padding.",
        minutes=4, difficulty=2, importance=5,
        reference=pad_and_mask, draw=lambda generator: [
            ([[5, 6, 7], [8]], 0),
            ([[4, 9], [6, 4, 3, 2], [8, 1, 5]], 7),
            ([_ids(generator, n, 3, 60) for n in (5, 2, 6, 6)], 1),
            ([[9, 2, 5, 3, 8, 4, 6, 2, 1], [6] * 7], 0)],
        mistakes=[
            Mistake("padded on the left", _padded_left, "The padding comes first. BERT and this course pad on the right, so that the first token is at position 0."),
            Mistake("mask inverted", "i < len(row)", "i >= len(row)", "True marks the padding here. It should mark the tokens, because those are the positions that others are allowed to attend to."),
            Mistake("nothing hidden", "i < len(row)", "True", "The mask is True everywhere, so the padding would be read like words."),
            Mistake("padded with 0", "[pad_id]", "[0]", "The rows are filled with 0 whatever pad_id is. Other tokenizers use a different id for padding."),
            Mistake("always 512", "max(len(row) for row in rows)", "512", "Every batch is padded to 512 here, so the model would spend most of its work on padding. The longest row of this batch is enough: max(len(row) for row in rows)."),
            Mistake("transposed", "return", "(result[0].T, result[1].T)", "The axes are swapped: (S, B). Each sentence is a row, so the batch comes first."),
        ],
        also_right=[
            lambda rows, pad_id: (lambda ids: (ids, torch.arange(ids.shape[1]) < torch.tensor([[len(r)] for r in rows])))(
                torch.nn.utils.rnn.pad_sequence([torch.tensor(r) for r in rows], batch_first=True, padding_value=pad_id)
            ),
        ],
        hints=["Start with the length of the longest row, max(len(row) for row in rows).",
               "A list times a number repeats it: [pad_id] * 3 is a list of three padding ids, and [pad_id] * 0 is an empty list.",
               "row + [pad_id] * (longest - len(row)), and for the mask [i < len(row) for i in range(longest)]."],
        look_at="If your mask comes from the lengths and not from ids != pad_id, it stays right even where pad_id occurs as a real token.",
    ),
    Exercise(
        name="wordpiece_encode", title="WordPiece, the longest piece first",
        task="Cut one word from the left, always taking the longest piece that is in the dictionary ids. A piece that doesn't begin the word is written with ## in front, such as ##able. If the rest of the word can't be cut, the whole word becomes [unk_id]. Return the ids.",
        minutes=8, difficulty=3, importance=4,
        reference=wordpiece_encode, draw=_draw_wordpiece,
        mistakes=[
            Mistake("shortest piece", _shortest_piece, "This takes the shortest known piece each time. WordPiece takes the longest, so try the whole rest first and shorten it."),
            Mistake("no ##", '"##" if start else ""', '""', "The pieces inside a word are looked up without ##. *able* at the beginning and *##able* inside a word are different pieces."),
            Mistake("## everywhere", '"##" if start else ""', '"##"', "The first piece is looked up with ## as well. Only pieces that don't begin the word have it."),
            Mistake("unknown rest only", "return [unk_id]", "return [*found, unk_id]", f"The pieces before the unknown rest are kept. {NO_FIT}"),
            Mistake("unknown rest dropped", "return [unk_id]", "return found", f"The rest is silently left out. {NO_FIT}"),
            Mistake("no list for an unknown word", "return [unk_id]", "return unk_id", "For an unknown word this returns the bare number. Return a list, as for every other word: [unk_id]."),
            Mistake("only the letter unknown", "            return [unk_id]", "            found.append(unk_id)\n            start += 1\n            continue", f"Only the letter that doesn't fit becomes unknown. {NO_FIT}"),
            Mistake("overlapping pieces", "        start = end", "        start += 1", "The next piece begins one letter further on, so the pieces overlap. It should begin where the last one ended: start = end."),
        ],
        also_right=[lambda word, ids, unk_id: _wordpiece_by_recursion(word, ids, unk_id)],
        hints=["Two loops: the outer one moves start to the right, the inner one moves end to the left until word[start:end] is known.",
               'The text to look up is word[start:end] for the first piece, and "##" + word[start:end] for all others.',
               "If end has come down to start, no piece fits: return [unk_id]. Otherwise append the id of the piece you found and set start = end."],
        look_at="The loop never goes back. If the longest first piece leads into a dead end, the word is unknown, even if a shorter first piece would have worked.",
    ),
    Exercise(
        name="likeliest_cut", title="the likeliest cut (Viterbi)",
        task="log_probs has the log probability of every piece, all single letters included. A cut's log probability is the sum of its pieces' log probabilities. Find the word's likeliest cut. Return its log probability and the list of places where its pieces end, for instance [1, 3] if abc is cut into a and bc.",
        minutes=12, difficulty=4, importance=3,
        reference=likeliest_cut, draw=_draw_log_probs,
        mistakes=[
            Mistake("longest piece first", _longest_first, "This takes the longest known piece from the left, as WordPiece does. The likeliest cut may begin with a shorter one."),
            Mistake("the unlikeliest cut", "best.append(max(scores))", "best.append(min(scores))", "This is the least likely cut. Take the largest log probability, the one nearest to 0.", also=(("scores.index(max(scores))", "scores.index(min(scores))"),)),
            Mistake("scores multiplied", "best[i] + log_probs", "(best[i] or 1) * log_probs", "Log probabilities are multiplied here. Probabilities multiply, so their logs add up."),
            Mistake("begins in place of ends", "ends.insert(0, end)", "ends.insert(0, begins[end])", "These are the places where pieces begin. Return where they end, so the last number is the length of the word."),
            Mistake("ends in reverse order", "ends.insert(0, end)", "ends.append(end)", "The ends are collected from the back, so they come in reverse order. Insert each at the front."),
        ],
        also_right=[lambda word, log_probs: _viterbi_forwards(word, log_probs)],
        hints=["Work through the word from left to right and keep, for each place, the best score of everything before it: best[0] = 0.",
               "The best cut up to `end` has a last piece word[i:end]. Its score is best[i] plus that piece's log probability; try every i.",
               "For each end, note the i that won. To recover the cut, start at len(word) and jump to the i noted there, then to the i noted for that place, and so on until you reach 0."],
        look_at="A word of 20 letters has half a million cuts. The loop tries at most 210 pieces, because the best cut of a part never depends on what follows.",
    ),
]
# fmt: on


# The same written differently, for the tests.


def _merged_by_index(ids, pair, new_id):
    ids, i = list(ids), 0
    while i < len(ids) - 1:
        if ids[i] == pair[0] and ids[i + 1] == pair[1]:
            ids[i : i + 2] = [new_id]
        i += 1
    return torch.tensor(ids)


def _by_rank(ids, merges):
    ids = list(ids)
    while True:
        found = [(merges[pair], i) for i, pair in enumerate(pairwise(ids)) if pair in merges]
        if not found:
            return ids
        new_id, i = min(found)
        ids[i : i + 2] = [new_id]


def _wordpiece_by_recursion(word, ids, unk_id, prefix=""):
    for end in range(len(word), 0, -1):
        if prefix + word[:end] in ids:
            rest = _wordpiece_by_recursion(word[end:], ids, unk_id, "##")
            return [unk_id] if rest == [unk_id] else [ids[prefix + word[:end]], *rest]
    return [unk_id] if word else []


def _viterbi_forwards(word, log_probs):
    best = [(0.0, [])] + [(-math.inf, [])] * len(word)
    for begin in range(len(word)):
        for end in range(begin + 1, len(word) + 1):
            if word[begin:end] in log_probs:
                score = best[begin][0] + log_probs[word[begin:end]]
                if score > best[end][0]:
                    best[end] = score, [*best[begin][1], end]
    return best[-1]
