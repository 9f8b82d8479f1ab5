"""Questions of lesson 03, self-attention with vectors."""

from helpers.exercises.content import Question, right, wrong

QUESTIONS = [
    Question(
        "sign_of_a_dot_product",
        "Two vectors have a large negative dot product. What does that say about them?",
        "single",
        [
            right(
                "They point away from each other, more than a right angle apart, and are not both short.",
                "Yes: the sign tells the angle, and the size takes length as well.",
            ),
            wrong(
                "They have nothing to do with each other.",
                "That is a dot product near 0: a right angle.",
            ),
            wrong(
                "One of them must be wrong; similarity is never negative.",
                "A distance is never negative. A dot product may be.",
            ),
            wrong(
                "They are far apart, in whatever direction.",
                "Far apart is a matter of distance. (10, 0) and (1, 0) are far apart and have a positive dot product.",
            ),
        ],
    ),
    Question(
        "what_the_weights_multiply",
        "A query is compared with the keys, and a softmax makes weights. What do the weights multiply?",
        "single",
        [
            right("The values.", "Yes. Keys are for being found, values for being handed over."),
            wrong("The keys.", "A common mistake. The keys have done their work in the scores."),
            wrong("The query.", "The query asks; the answer is made of what the others hold."),
            wrong(
                "The embeddings, before any projection.",
                "Only in the version without parameters, where keys, values and embeddings are the same thing.",
            ),
        ],
    ),
    Question(
        "by_pencil",
        "A query (1, 3, 0) meets the keys (0, 2, 1), (2, 1, 0) and (1, 1, 1). What is the largest score, before any scaling?",
        "number",
        [
            wrong("5", "That is the second key: 2 + 3 + 0. Look at the first."),
            wrong("4", "That is the third key: 1 + 3 + 0. Look at the first."),
            wrong(
                "3.46",
                "That is the largest score already divided by √3; the question is about before.",
            ),
        ],
        answer=6,
        why="1 · 0 + 3 · 2 + 0 · 1 = 6, for the first key.",
    ),
    Question(
        "what_permuting_does",
        "The words of a sentence are shuffled before self-attention without positions. What happens to the outputs?",
        "single",
        [
            right(
                "They are the same vectors, shuffled in the same way.",
                "Yes, exactly the same: it sees a set, not a sequence.",
            ),
            wrong(
                "They change, since every word has other neighbours now.",
                "Nobody knows about neighbours here. Only the vectors count.",
            ),
            wrong(
                "Nothing at all happens to them.",
                "Each output goes with its word, so they are shuffled too.",
            ),
            wrong(
                "They become random.", "Every output is still the same mixture of the same words."
            ),
        ],
    ),
    Question(
        "shape_of_one_context",
        "One query of width K attends to S keys of width K with values of width D_v. What is the shape of the context?",
        "shape",
        [
            wrong("(K)", "That is the shape of the query. What comes out is a mixture of values."),
            wrong("(S)", "That is the shape of the weights: one for each key."),
            wrong("(S, D_v)", "Those are the weighed values before they are summed."),
        ],
        answer="(D_v)",
        why="A weighted sum of S values of width D_v is one vector of width D_v.",
    ),
    Question(
        "six_steps",
        "Put the six steps for one word in order.",
        "order",
        answer=[
            "project to query, keys and values",
            "score: dot products of the query with every key",
            "divide by √d_k",
            "softmax",
            "multiply each value by its weight",
            "sum",
        ],
        why="Project, score, scale, softmax, weigh, sum. Scaling after the softmax would be too late: the weights would no longer sum to 1.",
    ),
    Question(
        "roles",
        "What is what, in a soft dictionary?",
        "match",
        answer={
            "query": "what a word is looking for",
            "key": "what a word can be found by",
            "value": "what a word hands over once found",
            "weight": "how much of it is taken",
        },
        why="Query asks, key answers whether it fits, value is what one gets, weight is how much of it.",
    ),
    Question(
        "why_three_projections",
        "Why does each word get three vectors instead of one?",
        "multiple",
        [
            right(
                "So that what it looks for may differ from what it can be found by.",
                "True: a verb looks for its subject and need not look like one.",
            ),
            right(
                "So that a word need not look mostly at itself.",
                "True: with one long vector for everything the diagonal dominates, since its product with itself is its squared length.",
            ),
            right(
                "So that what it hands over may differ from what it can be found by.",
                "True: the weights multiply the values, and these need not even be as wide as the keys.",
            ),
            wrong(
                "Because with one matrix there would be nothing to learn.",
                "One matrix can be learned too. But one vector would still play all three parts.",
            ),
            wrong(
                "Because the softmax needs three inputs.",
                "It needs scores, whatever they come from.",
            ),
        ],
    ),
    Question(
        "where_embeddings_come_from",
        "Where do the input vectors of a Transformer's words come from?",
        "single",
        [
            right(
                "From a table that is learned with everything else.",
                "Yes. word2vec or GloVe could fill it at the start, but need not.",
            ),
            wrong(
                "From word2vec, always.",
                "That was common before. In a Transformer the table starts at random and is learned with the model.",
            ),
            wrong(
                "From hand-made features.",
                "Ours with the films were made by hand to see what a dot product does. Real ones are learned.",
            ),
            wrong(
                "They are one-hot vectors.",
                "A one-hot vector picks a row of the table; what goes on is that row.",
            ),
        ],
    ),
    Question(
        "temperature_to_zero",
        "What becomes of the soft look-up when the scores are divided by a temperature that goes to 0? Why not use that, if we want one answer?",
        "open",
        answer="All the weight goes to the key with the largest score: an ordinary dictionary look-up. It has no useful gradient, since a small change of the query changes nothing until another key wins, and then everything. The soft version can be learned: each key that helped a little is pushed to help more.",
    ),
    Question(
        "does_a_map_explain",
        "Your self-attention without parameters has a strong diagonal. Does that mean that words matter mostly to themselves?",
        "open",
        answer="It means that a vector has a large dot product with itself: its squared length. That follows from the arithmetic, whatever the words mean, and long vectors show it most. Only with learned queries and keys does it become a choice of the model, and even then a weight says where something was taken from, not what it was used for.",
    ),
]
