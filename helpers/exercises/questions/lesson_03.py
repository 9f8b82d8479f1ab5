"""Questions of lesson 03, self-attention with vectors."""

from helpers.exercises.content import Question, right, wrong

QUESTIONS = [
    Question(
        "sign_of_a_dot_product",
        "Two vectors have a large negative dot product. What does that tell you?",
        "single",
        [
            right(
                "They point in opposing directions, more than a right angle apart.",
                "Yes, and neither of them is very short, or the product wouldn't be large.",
            ),
            wrong(
                "They have nothing to do with each other.",
                "A dot product near 0 would say that: the two are at right angles.",
            ),
            wrong(
                "There is a mistake, because a similarity is never negative.",
                "A distance is never negative, but a dot product can be.",
            ),
            wrong(
                "They are far apart, whatever their directions.",
                "That is about distance. (10, 0) and (1, 0) are far apart, and their dot product is positive.",
            ),
        ],
    ),
    Question(
        "what_the_weights_multiply",
        "A query is compared with the keys, and a softmax turns the scores into weights. What do the weights multiply?",
        "single",
        [
            right(
                "The values.",
                "Yes. Keys are what queries are compared with, and values are what is passed on.",
            ),
            wrong("The keys.", "A common mistake. The keys have done their work in the scores."),
            wrong(
                "The query.",
                "The query is compared with the keys. What comes out is made of the values.",
            ),
            wrong(
                "The embeddings, before any projection.",
                "That is so only without parameters, where keys, values and embeddings are the same vectors.",
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
        "You shuffle the words of a sentence and apply self-attention without positions. What happens to the outputs?",
        "single",
        [
            right(
                "They are the same vectors, in the new order.",
                "Yes, exactly the same. Self-attention treats its input as a set.",
            ),
            wrong(
                "They change, because every word now has other neighbours.",
                "Nothing in the computation uses neighbours. Only the vectors count.",
            ),
            wrong(
                "They are the same vectors, in the old order.",
                "Each output belongs to its word, so it moves along with it.",
            ),
            wrong(
                "They change, and differently for each shuffle.",
                "Every output is still the same mixture of the same words.",
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
                "Yes. It could start from word2vec or GloVe, but it doesn't have to.",
            ),
            wrong(
                "From word2vec or GloVe, which are trained beforehand and stay fixed.",
                "That used to be common. In a Transformer the table starts at random and is trained with the model.",
            ),
            wrong(
                "From features that somebody chose for each word.",
                "We made our vectors by hand to see what a dot product does. Real ones are learned.",
            ),
            wrong(
                "From one-hot vectors, one dimension per word, used as they are.",
                "A one-hot vector picks a row of the table, and it's that row that the model works with.",
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
