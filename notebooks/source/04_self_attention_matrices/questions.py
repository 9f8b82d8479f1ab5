"""Questions of lesson 04, self-attention with matrices."""

from helpers.exercises.content import Prediction, Question, right, wrong

QUESTIONS = [
    Question(
        "shapes_in_the_paper",
        "Ten words of width 512 go through one head of width 64. What is the shape of Q Kᵀ?",
        "shape",
        [
            wrong(
                "(10, 64)", "That is the shape of Q and of K. The product Q Kᵀ sums over the width."
            ),
            wrong(
                "(64, 64)",
                "That would be Qᵀ K, one entry per pair of features. A score belongs to a pair of words.",
            ),
            wrong("(512, 512)", "The width of 512 is gone by then, because Q and K are 64 wide."),
            wrong("(10, 512)", "That is the shape of X. The product Q Kᵀ sums over the width."),
        ],
        answer="(10, 10)",
        why="One score per pair of words: (10, 64)(64, 10).",
    ),
    Question(
        "why_root_d_k",
        "Why are the scores divided by √d_k?",
        "single",
        [
            right(
                "Their standard deviation grows with √d_k, and large scores saturate the softmax.",
                "Yes. You saw it in the variance of the scores, in the strongest weight, and in the gradient.",
            ),
            wrong(
                "Without it, the weights in a row wouldn't sum to 1 once d_k is larger than 1.",
                "The softmax makes every row sum to 1, whatever the scores are.",
            ),
            wrong(
                "There are d_k keys that share the weight, so each score has to be smaller.",
                "d_k is the width of a key, not the number of keys.",
            ),
            wrong(
                "It keeps the weights positive.", "exp is positive for any score, scaled or not."
            ),
        ],
    ),
    Question(
        "where_the_mask_goes",
        "Where does the mask act?",
        "single",
        [
            right(
                "On the scores, as −∞, before the softmax.",
                "Yes. exp(−∞) is 0, so a masked position adds nothing to the sum and gets no share of it.",
            ),
            wrong(
                "On the weights, as 0, after the softmax.",
                "Then rows no longer sum to 1, and masked positions still count in the denominator.",
            ),
            wrong(
                "On the weights, as −∞, after the softmax, so that nothing is left of them.",
                "A weight of −∞ would make the context infinite or NaN. It's the scores that become −∞.",
            ),
            wrong(
                "On the values, as 0, so that there is nothing to pass on.",
                "The masked positions would still take their share of the weight.",
            ),
        ],
    ),
    Question(
        "order_of_the_steps",
        "Put the steps of self-attention in the order of the paper and of our code.",
        "order",
        answer=[
            "project to queries, keys and values",
            "dot products of queries and keys",
            "divide by √d_k",
            "mask what isn't allowed to be seen",
            "softmax over the keys",
            "mix the values",
        ],
        why="Project, score, scale, mask, softmax, mix. Scaling and masking could be swapped, as long as both come before the softmax.",
    ),
    Question(
        "cheaper_than_recurrence",
        "Compare self-attention with a recurrent layer of the same width. Which of these are true?",
        "multiple",
        [
            right("All positions can be computed at once.", "True: no step waits for another."),
            right(
                "Any two words are one step apart.",
                "True: each query is compared with every key directly.",
            ),
            wrong(
                "It always needs fewer multiplications.",
                "Not so: leaving out the products with the weight matrices, it's about 2n²d against nd², which is more once n exceeds d/2.",
            ),
            wrong(
                "Its attention weights need memory in proportion to the length.",
                "Not so: in proportion to the square of the length.",
            ),
        ],
    ),
    Question(
        "empty_row",
        "A query isn't allowed to attend to anything. What does a softmax over a row of −∞ give?",
        "single",
        [
            right(
                "NaN, because it's 0/0.",
                "Yes. Our version sets such a row to zeros, and its gradient too.",
            ),
            wrong(
                "Zeros, because exp(−∞) = 0.",
                "Each entry of the sum is 0, and so is the sum itself. 0/0 isn't 0, so the code "
                "has to handle this case separately.",
            ),
            wrong(
                "Equal weights.",
                "That is what −1e9 in place of −∞ gives. It's wrong, and there's no error message.",
            ),
            wrong(
                "An error.",
                "There is no error message, only a NaN, which then spreads to every weight of the model.",
            ),
        ],
    ),
    Question(
        "how_many_scores",
        "A batch of 8 sentences of 50 words goes through attention with 4 heads. How many scores "
        "are computed?",
        "number",
        [
            wrong("20000", "8 × 50 × 50 counts a single head. There are 4 heads."),
            wrong(
                "1600", "That is one number per word and head. Each word is compared with 50 words."
            ),
            wrong("10000", "That is one sentence. There are 8."),
        ],
        answer=80000,
        why="8 × 4 × 50 × 50.",
    ),
    Question(
        "who_may_see_padding",
        "The padding mask hides padded keys, but padded queries still look at real words. Does that "
        "matter? Why don't we hide them too?",
        "open",
        answer="It doesn't matter, because nothing uses what a padded query computes. Its row of "
        "the output belongs to no word, the loss skips it, and as a key it's hidden from "
        "all other words. If you hid the query as well, its row would have no allowed key "
        "at all, which gives 0/0 and has to be handled separately. The only cost is some "
        "wasted computation, which fused operators for batches of unequal lengths can "
        "save.",
    ),
    Question(
        "why_not_zero_afterwards",
        "A colleague zeroes the weights after the softmax and then divides each row by its sum. Is "
        "that the same as −∞ before? Is it as good?",
        "open",
        answer="In exact arithmetic it's the same, because the denominator of the softmax "
        "cancels. In floating point it's worse. If a hidden score is much larger than all "
        "visible ones, the visible weights underflow to 0, and dividing by their sum "
        "gives NaN. You also have to handle rows whose sum is 0. With −∞, the hidden "
        "scores play no part from the start.",
    ),
]

PREDICTIONS = [
    Prediction(
        "loop_against_matrix",
        "The same attention over 128 words, once as lesson 03's loop in Python and once as matrix products. By what factor is the matrix form faster?",
        options={
            "ten": (
                "about 10 times",
                "That's a typical gain from rewriting the loop in a faster language. Here the loop disappears altogether.",
            ),
            "hundred": (
                "about 100 times",
                "Each of the 16,384 small calls from Python costs far more than the multiplications in it, and the matrix form avoids nearly all of them.",
            ),
            "thousand": (
                "about 1,000 times",
                "Each of the 16,384 small calls from Python costs far more than the multiplications in it, and the matrix form needs only a handful of calls.",
            ),
        },
        explain="The exact number depends on the machine, and the number below is from yours.",
    ),
    Prediction(
        "softmax_along_columns",
        "`(scores / math.sqrt(3)).softmax(dim=0)`: what happens?",
        options={
            "error": (
                "an error, because the shapes don't fit",
                "A softmax never changes the shape, so the shapes still fit.",
            ),
            "silent": (
                "no error, but the rows no longer sum to 1",
                "Yes, and that's why the mistake is easy to miss.",
            ),
            "same": (
                "the same weights, because every pair of words is compared either way",
                "The pairs are the same. The difference is in what competes for the weight: all keys for one query, or all queries for one key.",
            ),
        },
    ),
    Prediction(
        "share_of_the_strongest",
        "Without the division, at 512 entries per vector: on average, what share of the weight does the strongest of the sixteen keys get?",
        slider=True,
        low=0,
        high=100,
        unit="%",
        close=0.06,
        too_low="The scores are sums of 512 products, so they are much larger than at 4 entries, and a softmax turns a lead of a few points into nearly everything.",
        too_high="Nearly. Now and then two keys have almost the same score and share the weight.",
        ask_why=True,
    ),
    Prediction(
        "which_outputs_move",
        "The last of four words changes, and forbidden weights are set to zero *after* the "
        "softmax. Which of the first three outputs change?",
        options={
            "none": (
                "none of them: a weight of zero passes nothing on",
                "It's true that a weight of zero passes nothing on. But the other weights of the row were computed with the last word in the denominator.",
            ),
            "third": (
                "only the third, which is next to the changed word",
                "Distance plays no role in attention: every row has the last word in its denominator.",
            ),
            "all": (
                "all three",
                "Yes: the last word is in the denominator of every row.",
            ),
        },
        ask_why=True,
    ),
    Prediction(
        "the_other_interface",
        "What will `nn.MultiheadAttention` do with our mask?",
        options={
            "same": (
                "hide the future, as here",
                "It would if both interfaces read `True` in the same way.",
            ),
            "reversed": (
                "hide the present and the past",
                "Yes: there, `True` means that a position is *not* allowed.",
            ),
            "error": (
                "refuse a boolean mask",
                "It accepts booleans, but reads them the other way round.",
            ),
        },
    ),
    Prediction(
        "twice_the_length",
        "A text becomes twice as long. How many multiplications does attention need, compared with before?",
        options={
            "two": (
                "twice as many",
                "There are twice as many queries, but each of them is also compared with twice "
                "as many keys.",
            ),
            "four": (
                "four times as many",
                "Yes: twice as many queries, each with twice as many keys.",
            ),
            "eight": (
                "eight times as many",
                "Queries and keys double. The width of each vector stays as it is.",
            ),
        },
    ),
]
