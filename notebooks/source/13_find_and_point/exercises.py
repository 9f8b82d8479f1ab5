"""Lesson 13, find it, then point at it."""

import math
from collections import Counter

import torch
import torch.nn.functional as F

from helpers.exercises.model import Exercise, Mistake, normal


def retrieve(query, vectors, k):
    """Find the k vectors that point most nearly in the query's direction, the nearest first."""
    query = F.normalize(query, dim=-1)
    vectors = F.normalize(vectors, dim=-1)
    similarity = vectors @ query
    return similarity.topk(k).indices


def recall_at_k(similarity, right, k):
    """Compute for what share of the questions the right paragraph is among the first k."""
    found = similarity.topk(k, dim=-1).indices
    hits = (found == right[:, None]).any(-1)
    return hits.float().mean()


def span_scores(start_logits, end_logits, max_len):
    """Score every span by its start's and its end's logit; −∞ where it can't be an answer."""
    scores = start_logits[:, None] + end_logits[None, :]
    start = torch.arange(len(scores))[:, None]
    end = torch.arange(len(scores))[None, :]
    valid = (start <= end) & (end - start < max_len)
    return scores.masked_fill(~valid, -math.inf)


def best_span(start_logits, end_logits, in_text, max_len):
    """Find the best valid span inside the text, as [start, end], both included."""
    n = len(start_logits)
    place = torch.arange(n)
    start_logits = start_logits.masked_fill(~in_text, -math.inf)
    end_logits = end_logits.masked_fill(~in_text, -math.inf)
    length = place[None, :] - place[:, None] + 1
    valid = (length >= 1) & (length <= max_len)
    scores = start_logits[:, None] + end_logits[None, :]
    best = scores.masked_fill(~valid, -math.inf).argmax().item()
    start = best // n
    end = best % n
    return [start, end]


def answer_characters(offsets, start, end):
    """Give the first character of an answer and the one after its last: text[first:after]."""
    first = offsets[start][0]
    after = offsets[end][1]
    return [int(first), int(after)]


def span_loss(start_logits, end_logits, start, end):
    """Average the two cross-entropies of pointing at the right start and the right end."""
    start_loss = F.cross_entropy(start_logits, start)
    end_loss = F.cross_entropy(end_logits, end)
    return (start_loss + end_loss) / 2


def token_f1(predicted, true):
    """Weigh how much of the prediction is right against how much of the truth is found."""
    shared = (Counter(predicted) & Counter(true)).total()
    if shared == 0:
        return 0.0
    precision = shared / len(predicted)
    recall = shared / len(true)
    return 2 * precision * recall / (precision + recall)


def windows(n_tokens, size, stride):
    """Cut a long text into overlapping windows [start, stop), the last of which ends with it."""
    most = max(n_tokens - size, 0) + stride
    starts = range(0, most, stride)
    return [[start, min(start + size, n_tokens)] for start in starts]


def _draw_recall(generator):
    for n_questions, n_paragraphs, k in [(4, 5, 2), (10, 6, 1), (12, 8, 3), (20, 9, 4)]:
        similarity = torch.randn(n_questions, n_paragraphs, generator=generator)
        right = torch.randint(n_paragraphs, (n_questions,), generator=generator)
        # A third of the questions is easy, or hardly any would be found.
        easy = torch.arange(n_questions) % 3 == 0
        similarity[easy, right[easy]] += 2
        yield similarity, right, k


def _draw_best(generator):
    """Question in front, text behind, and something tempting in each place where a slip goes."""
    for n, asked, max_len, high, seed in [
        (9, 3, 3, {"start": {5: 4.0, 1: 2.0}, "end": {4: 5.0, 6: 3.0, 2: 6.0}}, 0),
        (12, 4, 3, {"start": {6: 4.0, 9: 3.5}, "end": {8: 3.0, 10: 3.4, 9: 3.2}}, 1),
        (12, 4, 2, {"start": {5: 3.0, 8: 2.8}, "end": {7: 4.0, 9: 2.5, 11: 3.0}}, 2),
        (14, 3, 4, {"start": {8: 4.0, 2: 5.0}, "end": {8: 4.0, 3: 3.5, 6: 4.5}}, 3),
        (15, 5, 4, {"start": {12: 3.0, 6: 2.9, 3: 2.5}, "end": {9: 3.0, 7: 4.2, 5: 3.0}}, 4),
        (13, 2, 5, {"start": {4: 3.0, 1: 4.0}, "end": {1: 4.0, 9: 4.5, 8: 3.0}}, 5),
        (14, 3, 3, {"start": {4: 4.0}, "end": {6: 3.0, 7: 4.2, 10: 5.4}}, 6),
        (13, 3, 4, {"start": {10: 4.0}, "end": {6: 5.0, 11: 3.6}}, 7),
        (12, 3, 4, {"start": {9: 4.0, 5: 3.0}, "end": {11: 5.0, 10: 3.0, 6: 2.0}}, 8),
    ]:
        own = torch.Generator().manual_seed(seed)
        both = [0.8 * torch.randn(n, generator=own) for _ in high]
        for logits, places in zip(both, high.values(), strict=True):
            logits += 0.05 * torch.randn(n, generator=generator)
            for place, value in places.items():
                logits[place] += value
        in_text = torch.arange(n) >= asked
        in_text[-1] = False  # the last [SEP]
        yield *both, in_text, max_len


def _draw_offsets(generator):
    """Offsets of words of many lengths, with one or two characters between them."""
    for n, start, end in [(6, 1, 3), (8, 2, 2), (9, 4, 6), (12, 3, 9)]:
        lengths = torch.randint(2, 8, (n,), generator=generator)
        gaps = torch.randint(0, 3, (n,), generator=generator)
        first = (lengths + gaps).cumsum(0) - lengths + 3
        yield torch.stack([first, first + lengths], dim=1), start, end


def _by_rank(similarity, right, k):
    own = similarity.gather(1, right[:, None])
    rank = (similarity > own).sum(-1)
    return (rank < k).float().mean()


def _spans_by_tril(start_logits, end_logits, max_len):
    n = len(start_logits)
    band = torch.ones(n, n, dtype=torch.bool).triu().tril(max_len - 1)
    return torch.where(band, start_logits.unsqueeze(1) + end_logits, -math.inf)


def _best_in_a_loop(start_logits, end_logits, in_text, max_len):
    candidates = [
        (float(start_logits[i] + end_logits[j]), i, j)
        for i in range(len(in_text))
        for j in range(i, min(i + max_len, len(in_text)))
        if in_text[i] and in_text[j]
    ]
    _, start, end = max(candidates)
    return start, end


def _best_of_the_cut(start_logits, end_logits, in_text, max_len):
    first = int(in_text.nonzero()[0])
    scores = span_scores(start_logits[in_text], end_logits[in_text], max_len)
    start, end = divmod(int(scores.argmax()), len(scores))
    return torch.tensor([start + first, end + first])


def _windows_by_count(n_tokens, size, stride):
    n = 1 + max(0, math.ceil((n_tokens - size) / stride))
    return torch.tensor([[i * stride, min(i * stride + size, n_tokens)] for i in range(n)])


def _best_start_first(start_logits, end_logits, in_text, max_len):
    start = int(start_logits.masked_fill(~in_text, -math.inf).argmax())
    allowed = torch.zeros_like(in_text)
    allowed[start : start + max_len] = True
    return [start, int(end_logits.masked_fill(~(in_text & allowed), -math.inf).argmax())]


def _pointing_nowhere(start_logits, end_logits, in_text, max_len):
    scores = start_logits[:, None] + end_logits[None, :]
    best = scores.masked_fill(~in_text, -math.inf).argmax().item()
    return [best // len(scores), best % len(scores)]


# fmt: off
EXERCISES = [
    Exercise(
        name="retrieve", title="find the paragraph",
        task="query (D,) is the question's vector and vectors (N, D) holds one row per paragraph. Return the row numbers (k,) of the k paragraphs whose cosine similarity to the question is highest, with the best first.",
        minutes=4, difficulty=2, importance=5,
        reference=retrieve, draw=normal(
            "d, n d, n", (3, 5, 2), (4, 8, 3), (6, 12, 5), (5, 9, 1),
            # Of very different lengths, so that a dot product and a cosine choose differently.
            then=lambda query, vectors, n, k: (query, vectors * (2 * n.abs()[:, None] + 0.3), k)),
        mistakes=[
            Mistake("lengths count", "    vectors = F.normalize(vectors, dim=-1)\n", "",
                    "The vectors are compared by their dot products, so a long vector wins over a similar one. Divide every row by its length first."),
            Mistake("normalised over the paragraphs", "F.normalize(vectors, dim=-1)", "F.normalize(vectors, dim=0)",
                    "Each column of the matrix has length 1 now. The vectors are the rows, so use dim=-1."),
            Mistake("the least similar", "topk(k)", "topk(k, largest=False)",
                    "These are the k least similar paragraphs. Take the largest similarities."),
            Mistake("similarities returned", "topk(k).indices", "topk(k).values",
                    "These are the similarities. The exercise asks for the paragraphs' row numbers: indices."),
            Mistake("in the paragraphs' order", "return", "result.sort().values",
                    "These are the right k paragraphs, but in the order of the list. Put the most similar first."),
        ],
        also_right=[
            lambda query, vectors, k: F.cosine_similarity(vectors, query[None]).topk(k).indices],
        hints=["A cosine similarity is the dot product of two vectors of length 1.",
               "vectors.norm(dim=-1) is the length of every row, (N,). With keepdim=True it's (N, 1), so that each row is divided by its own length.",
               "vectors.norm(dim=-1, keepdim=True), and k"],
        look_at="The length of the question's vector doesn't matter, because it scales all similarities alike.",
    ),
    Exercise(
        name="recall_at_k", title="recall at k",
        task="similarity (Q, N) compares Q questions with N paragraphs, and right (Q,) is each question's paragraph. For what share of the questions is the right paragraph among the k most similar?",
        minutes=5, difficulty=2, importance=4,
        reference=recall_at_k, draw=_draw_recall,
        mistakes=[
            Mistake("the first k paragraphs", "similarity.topk(k, dim=-1).indices", "torch.arange(k).expand(len(similarity), k)",
                    "These are the first k paragraphs of the list, whatever the similarities say. topk finds the most similar."),
            Mistake("one too many", "topk(k, dim=-1)", "topk(k + 1, dim=-1)",
                    "This looks among k + 1 paragraphs. Counted from 0, the first k ranks are 0 to k − 1."),
            Mistake("divided by k", "return", "result / k",
                    "The hits are divided by k as well. There's one right paragraph per question, so the share is the number of hits divided by the number of questions."),
            Mistake("hits counted", "hits.float().mean()", "hits.float().sum()",
                    "This is the number of hits. Divide it by the number of questions."),
            Mistake("all k have to be right", "any(-1)", "all(-1)",
                    "Here all k paragraphs would have to be the right one. It's enough if one of them is."),
        ],
        also_right=[_by_rank],
        hints=["similarity.topk(k, dim=-1).indices is (Q, k): the numbers of the k most similar paragraphs, one row per question.",
               "Compare them with right[:, None], and ask whether any of the k is equal.",
               "(similarity.topk(k, dim=-1).indices == right[:, None]).any(-1).float().mean()"],
        look_at="Recall at N is always 1, so a recall means nothing without its k and its N.",
    ),
    Exercise(
        name="span_scores", title="score every span",
        task="start_logits and end_logits are (S,). Return scores (S, S): start_logits[i] + end_logits[j] in row i and column j, and −∞ where the end comes before the start or the span has more than max_len tokens.",
        minutes=4, difficulty=2, importance=5,
        reference=span_scores, draw=normal("n, n", (5, 2), (7, 3), (9, 4), scale=2),
        mistakes=[
            Mistake("end before start", "(start <= end) & (end - start < max_len)", "end - start < max_len",
                    "Here a span can end before it starts. Require start <= end."),
            Mistake("one token too long", "end - start < max_len", "end - start <= max_len",
                    "A span from i to j has j − i + 1 tokens, so your longest spans have one token too many."),
            Mistake("any length", " & (end - start < max_len)", "",
                    "Even the whole text is allowed as a span here. Allow at most max_len tokens, and take that number from the argument, because a fixed limit such as 30 excludes nothing in a text this short."),
            Mistake("invalid spans score 0", "~valid, -math.inf", "~valid, 0.0",
                    "Invalid spans score 0, which can be more than a valid span scores. Use -math.inf."),
            Mistake("one token too short", "end - start < max_len", "end - start < max_len - 1",
                    "A span from i to j has j − i + 1 tokens, so your longest spans have one token too few."),
            Mistake("both down the rows", "end_logits[None, :]", "end_logits[:, None]",
                    "Every column of the sums is the same, because the end's logits run down the rows, too. They belong along the columns."),
        ],
        also_right=[_spans_by_tril],
        hints=["start_logits[:, None] + end_logits[None, :] computes all S × S sums.",
               "A span mustn't end before it starts. And how many tokens does a span from i to j have?",
               "end_logits[None, :], then (start <= end) & (end - start < max_len)"],
        look_at="The valid spans form a band above the diagonal, like a causal mask flipped over and cut off at max_len.",
    ),
    Exercise(
        name="best_span", title="find the bug: pointing nowhere",
        task="Return [start, end] of the best valid span, both included. A span is valid if it's inside the text (in_text is (S,), True for the text's own tokens), doesn't end before it starts, and has at most max_len tokens. Fix the two mistakes.",
        minutes=5, difficulty=3, importance=5,
        reference=best_span, draw=_draw_best,
        mistakes=[
            Mistake("still as it was", _pointing_nowhere,
                    "The first printed span begins in the question, and the second one ends before it starts. Which cells of scores have to be −∞ to rule that out?"),
            Mistake("two argmaxes", "return", "[int(start_logits.argmax()), int(end_logits.argmax())]",
                    "Start and end are chosen independently, so the end can come before the start or far after it. One argmax over all the sums isn't any better, unless you first set the pairs that aren't valid spans to −∞."),
            Mistake("in the question too", "start_logits = start_logits.masked_fill(~in_text, -math.inf)", "start_logits = start_logits",
                    "The span can be part of the question. Set the logits to −∞ wherever in_text is False.",
                    also=(("end_logits = end_logits.masked_fill(~in_text, -math.inf)", "end_logits = end_logits"),)),
            Mistake("behind the text", "end_logits = end_logits.masked_fill(~in_text, -math.inf)", "end_logits = end_logits",
                    "The span can end on the last [SEP], after the text. Set the end logits to −∞ outside the text as well."),
            Mistake("end before start", "(length >= 1) & (length <= max_len)", "length <= max_len",
                    "The end can come before the start. A span has at least one token."),
            Mistake("any length", " & (length <= max_len)", "",
                    "The span can be longer than max_len."),
            Mistake("exchanged", "[start, end]", "[end, start]",
                    "Start and end have changed places. Rows are starts, so start = best // n."),
            Mistake("best start, then its end", _best_start_first,
                    "The best start is chosen first, and then an end for it. Another start may belong to a better pair, so compare the sums of all valid pairs."),
        ],
        also_right=[_best_in_a_loop, _best_of_the_cut],
        hints=["Look at the two printed spans. Where does each one start, and where does it end?",
               "First set the logits outside the text to −∞. Then span_scores(start_logits, end_logits, max_len) scores every pair.",
               "best = scores.argmax().item(); start, end = best // S, best % S"],
        look_at="One argmax over all pairs replaces two. The mask has to hide starts and ends alike, or an answer can begin in the question or end on the last [SEP].",
    ),
    Exercise(
        name="answer_characters", title="back to the text",
        task="For every token, offsets (S, 2) holds the position of its first character in the text and the position just after its last character. For the answer from token start to token end (included), return [first, after] such that text[first:after] is the answer.",
        minutes=2, difficulty=1, importance=4,
        reference=answer_characters, draw=_draw_offsets,
        mistakes=[
            Mistake("last token missing", "offsets[end][1]", "offsets[end][0]",
                    "You stop where the last token begins, so that token is missing. It ends at offsets[end][1]."),
            Mistake("first token missing", "offsets[start][0]", "offsets[start][1]",
                    "You begin after the first token. It begins at offsets[start][0]."),
            Mistake("end not included", "offsets[end][1]", "offsets[end - 1][1]",
                    "You stop one token too early. The end belongs to the answer."),
            Mistake("tokens, not characters", "return", "[start, end + 1]",
                    "These count tokens. Offsets turn them into characters."),
            Mistake("from the beginning", "[int(first)", "[0",
                    "You begin with the text's first character."),
        ],
        also_right=[lambda offsets, start, end: offsets[[start, end], [0, 1]]],
        hints=["Where does the token `start` begin?",
               "It begins at offsets[start][0]. The answer stops where the token `end` does.",
               "[offsets[start][0], offsets[end][1]]"],
        look_at="The tokens between start and end aren't needed. The text itself is still there, with all its spaces and accents.",
    ),
    Exercise(
        name="span_loss", title="the loss of pointing",
        task="Logits are (B, S); start and end (B,) are the right positions. Return the mean of the two cross-entropies, averaged over the batch.",
        minutes=4, difficulty=2, importance=4,
        reference=span_loss, draw=normal(
            "b s, b s", (2, 4, torch.tensor([1, 3]), torch.tensor([2, 0])),
            (3, 6, torch.tensor([5, 0, 2]), torch.tensor([3, 3, 1])),
            (5, 5, torch.tensor([0, 4, 1, 2, 2]), torch.tensor([3, 1, 1, 4, 0])), scale=1.5),
        mistakes=[
            Mistake("added up", "(start_loss + end_loss) / 2", "start_loss + end_loss",
                    "The two losses are added. The exercise asks for their mean."),
            Mistake("start only", "(start_loss + end_loss) / 2", "start_loss",
                    "Only the start counts, so the end's logits would never be trained."),
            Mistake("end only", "(start_loss + end_loss) / 2", "end_loss",
                    "Only the end counts, so the start's logits would never be trained."),
            Mistake("multiplied", "(start_loss + end_loss) / 2", "start_loss * end_loss",
                    "The losses are multiplied. Each loss is a log-probability with its sign changed, and log-probabilities add up. Take the mean of the two."),
            Mistake("the larger of the two", "(start_loss + end_loss) / 2", "torch.maximum(start_loss, end_loss)",
                    "Only the larger of the two losses counts. Take their mean."),
        ],
        also_right=[lambda *cases: F.cross_entropy(torch.cat(cases[:2]), torch.cat(cases[2:]))],
        hints=["Pointing at one of S positions is a classification with S classes.",
               "F.cross_entropy takes logits (B, S) and positions (B,), and averages over the batch.",
               "(F.cross_entropy(start_logits, start) + F.cross_entropy(end_logits, end)) / 2"],
        look_at="In training, start and end are two separate classifications. Nothing ties them together until the span is chosen.",
    ),
    Exercise(
        name="token_f1", title="F1 of two answers",
        task="predicted and true are lists of words, already in lower case and without articles. Return the F1 score, 2 · precision · recall / (precision + recall). A word that both lists contain twice counts twice. Return 0 if they share no word.",
        minutes=5, difficulty=2, importance=4,
        reference=token_f1,
        # Order, repetition and length matter, and one pair shares nothing.
        draw=lambda generator: [
            (predicted.split(), true.split()) for predicted, true in [
                ("the onggirat tribe", "onggirat"),
                ("in the year 1206", "1206 in spring"),
                ("the old man and the sea", "the sea the boy saw and feared"),
                ("a nice puppet", "muppets"),
                ("new york new york", "york in the new state of new york today"),
                ("nine months later", "nine months later"),
                ("one two", "two one three four two five"),
                ("the boy and the boy", "the boy")]],
        mistakes=[
            Mistake("precision", "2 * precision * recall / (precision + recall)", "precision",
                    "This is the precision, the share of the predicted words that are right. Predicting a single right word would score 1, however long the true answer is."),
            Mistake("recall", "2 * precision * recall / (precision + recall)", "recall",
                    "This is the recall, the share of the true words that were found. Predicting the whole text would score 1."),
            Mistake("arithmetic mean", "2 * precision * recall / (precision + recall)", "(precision + recall) / 2",
                    "This is the arithmetic mean. F1 is the harmonic mean, which stays near the smaller of the two."),
            Mistake("without the 2", "2 * precision", "precision",
                    "The factor 2 is missing, so an exact answer would score one half."),
            Mistake("each word once", "(Counter(predicted) & Counter(true)).total()", "len(set(predicted) & set(true))",
                    "Every shared word counts once, even if it occurs twice in both answers."),
            Mistake("repeats counted too often", "(Counter(predicted) & Counter(true)).total()", "sum(word in true for word in predicted)",
                    "A word that occurs twice in your answer is counted twice, even if the true one has it only once. Count it as often as both have it."),
            Mistake("overlap by union", "return", "shared / (len(predicted) + len(true) - shared)",
                    "This is the overlap divided by the union (Jaccard). F1 divides twice the overlap by the sum of the two lengths."),
        ],
        also_right=[
            lambda mine, true: 2 * sum(min(mine.count(w), true.count(w)) for w in set(mine))
            / (len(mine) + len(true))],
        hints=["How many words do the two answers share? Counter(a) & Counter(b) keeps the smaller count of every word.",
               "precision = shared / len(predicted), recall = shared / len(true).",
               "(Counter(predicted) & Counter(true)).total() counts the shared words. If there are none, return 0.0 before you divide."],
        look_at="You get the same number if you divide twice the number of shared words by the sum of the two lengths.",
    ),
    Exercise(
        name="windows", title="windows over a long text",
        task="Cut a text of n_tokens into windows of at most `size` tokens, each starting `stride` tokens after the one before (stride is never more than size). Return a list of [start, stop], stop not included; end with the first window that reaches the end of the text.",
        minutes=6, difficulty=3, importance=3,
        reference=windows, draw=lambda generator: [
            (7, 4, 3), (10, 4, 3), (11, 4, 2), (5, 8, 4), (12, 4, 2), (12, 5, 3), (20, 6, 5), (8, 8, 3)],
        mistakes=[
            Mistake("no overlap", "range(0, most, stride)", "range(0, n_tokens, size)",
                    "Each of your windows starts where the one before ends, so an answer across the border is cut in two. Start a new one every `stride` tokens."),
            Mistake("stride taken for the overlap", "range(0, most, stride)", "range(0, max(n_tokens - size, 0) + size - stride, size - stride) if size > stride else [0]",
                    "The stride is used as the overlap here. It's the distance from one start to the next."),
            Mistake("one window too many", "range(0, most, stride)", "range(0, n_tokens, stride)",
                    "Some windows only repeat the end of an earlier one. Stop with the first window that reaches the end."),
            Mistake("beyond the end", "min(start + size, n_tokens)", "start + size",
                    "The last window goes beyond the end of the text. Stop at n_tokens."),
            Mistake("stop included", "return", "[[start, min(start + size, n_tokens) - 1] for start in starts]",
                    "Your stop is the last token. Return the one after it, as Python's slices do."),
            Mistake("starts only", "return", "[start for start in starts]",
                    "These are the starts. Return [start, stop] for every window."),
        ],
        also_right=[_windows_by_count],
        hints=["Start at 0. A window stops at start + size, or at the end of the text if that comes first.",
               "Go on from start + stride until a window's stop is n_tokens.",
               "In a loop: stop = min(start + size, n_tokens), append [start, stop], break if stop == n_tokens, else start += stride."],
        look_at="Neighbouring windows share size − stride tokens, so every answer of at most that many tokens is whole in at least one window.",
    ),
]
