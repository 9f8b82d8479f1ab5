"""Questions of lesson 03, self-attention with vectors."""

from helpers.exercises.content import Prediction, Question, right, wrong

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
                "The query is compared with the keys. The output is a mixture of the values.",
            ),
            wrong(
                "The embeddings, before any projection.",
                "That's true only without parameters, where keys, values and embeddings are the same vectors.",
            ),
        ],
    ),
    Question(
        "by_pencil",
        "A query (1, 3, 0) is compared with the keys (0, 2, 1), (2, 1, 0) and (1, 1, 1). What is "
        "the largest score, before any scaling?",
        "number",
        [
            wrong("5", "That is the second key's score: 2 + 3 + 0. Try the first."),
            wrong("4", "That is the third key's score: 1 + 3 + 0. Try the first."),
            wrong(
                "3.46",
                "That is the largest score already divided by √3. The question is about the score before that.",
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
                "Each output belongs to a word, and it moves when that word moves.",
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
            wrong("(K)", "That is the shape of the query. The context is a mixture of values."),
            wrong("(S)", "That is the shape of the weights: one per key."),
            wrong("(S, D_v)", "Those are the weighted values before they are summed."),
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
        why="Project, score, scale, softmax, weight, sum. After the softmax it's too late to scale, because the weights would no longer sum to 1.",
    ),
    Question(
        "roles",
        "Match the four terms of a soft look-up with what they mean.",
        "match",
        answer={
            "query": "what a word is looking for",
            "key": "what a query is compared with",
            "value": "what a word passes on",
            "weight": "how much of it is used",
        },
        why="The query is compared with the key, how well they match gives the weight, and the weight says how much of the value is used.",
    ),
    Question(
        "why_three_projections",
        "Why does each word get three vectors instead of one?",
        "multiple",
        [
            right(
                "So that its query can differ from its key.",
                "True: a verb can search for its subject without resembling one.",
            ),
            right(
                "So that a word doesn't have to attend mostly to itself.",
                "True: with a single long vector in all three roles, the diagonal dominates, since a vector's dot product with itself is its squared length.",
            ),
            right(
                "So that what it passes on can differ from what it's matched on.",
                "True: the weights multiply the values, which don't even have to be as wide as the keys.",
            ),
            wrong(
                "Because one matrix alone couldn't be learned.",
                "One matrix can be learned too, but then one vector would play all three parts.",
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
                "We made up our vectors by hand to see what a dot product does. In a real model "
                "they're learned.",
            ),
            wrong(
                "From one-hot vectors, one dimension per word, used as they are.",
                "A one-hot vector picks a row of the table, and the model works with that row.",
            ),
        ],
    ),
    Question(
        "temperature_to_zero",
        "Divide the scores by a temperature that goes to 0. What does the soft look-up become? And why not use that, if we want one answer?",
        "open",
        answer="All the weight goes to the key with the largest score, so it becomes an ordinary "
        "dictionary look-up. Such a look-up has no useful gradient, because a small change in the query makes no difference until another key wins, and then it changes everything. The soft version can be learned, because every small change in a score changes the result a little.",
    ),
    Question(
        "does_a_map_explain",
        "Your self-attention without parameters has a strong diagonal. Does that mean that words matter mostly to themselves?",
        "open",
        answer="No. It only means that a vector has a large dot product with itself, namely its "
        "squared length. That follows from the arithmetic, whatever the words mean, and "
        "the effect is largest for long vectors. With learned queries and keys, the model "
        "can learn where to put the weight. Even then, a weight says where something was "
        "taken from, but not what it was used for.",
    ),
]

PREDICTIONS = [
    Prediction(
        "which_word_made_the_difference",
        "Which word in *She sat on the bank of the river* does most to make its *bank* different from the other *bank*?",
        options={
            "sat": (
                "sat",
                "Sitting sounds like something you'd do by a river, but hiding *sat* changes nothing.",
            ),
            "of": (
                "of",
                "Not a bad guess: *the bank of* is a pattern, and hiding *of* does move the vector. The only word that moves it more is the noun after *of*.",
            ),
            "river": ("river", "Yes: no other word says as much about this *bank*."),
            "several": (
                "none of them alone: it takes several words",
                "Several words contribute, but one of them does more than any other, and hiding it alone closes half of the gap.",
            ),
        },
        explain="With nothing hidden the similarity is 0.82; with attention switched off it's 0.996.",
    ),
    Prediction(
        "share_of_the_rest",
        "*the*, *car* and *stops* all scored 0. Together, how much of the weight do they get?",
        slider=True,
        low=0,
        high=100,
        unit="%",
        close=0.05,
        explain="Each score of 0 becomes e⁰ = 1, against e³ ≈ 20 for each adjective, so the three words get 3 parts out of 43.",
        too_low="A softmax never gives exactly zero to a finite score.",
        too_high="The exponential stretches differences: a lead of 3 points is a factor of 20.",
    ),
    Prediction(
        "a_third_adjective",
        "Make the car shiny: *the small red shiny car stops*. The vector of *shiny* says only that it's an adjective. What happens to the car's redness of 0.47?",
        options={
            "stays": (
                "it stays at 0.47, because *shiny* says nothing about colour",
                "*shiny* brings no colour of its own, but it matches the query, so it takes weight away from *red*.",
            ),
            "falls": (
                "it falls to about 0.3",
                "Yes: three adjectives share what two shared before.",
            ),
            "zero": (
                "it falls to 0, because the last adjective replaces the others",
                "Nothing replaces anything here. All three adjectives score the same, so they get the same weight.",
            ),
        },
        ask_why=True,
    ),
    Prediction(
        "where_will_it_look",
        "After 300 training steps, how does the noun divide its weight? There are two sizes to tell apart (big or small) and four colours.",
        options={
            "half": (
                "about half on the size and half on the colour",
                "Both are needed, so it's a reasonable guess. But one of the two questions is harder.",
            ),
            "colour": (
                "mostly on size and colour, with clearly more on the colour",
                "Yes: four colours are harder to tell apart than two sizes.",
            ),
            "size": (
                "mostly on size and colour, with clearly more on the size",
                "Two sizes are easier to tell apart than four colours, so less weight on the size is enough.",
            ),
            "even": (
                "about evenly on all five words",
                "That's where training starts. An even mixture contains the right answer in diluted form, and training keeps improving on that.",
            ),
        },
    ),
    Prediction(
        "with_a_second_noun",
        "Once there are two nouns, in how many of the test sentences does the model get both the size and the colour right? (Blind guessing would give 12.5%.)",
        slider=True,
        low=0,
        high=100,
        unit="%",
        close=0.08,
        explain="There are now two sizes and two colours in the sentence, and nothing tells the model which of them belong to the first noun.",
        too_high="The words alone don't say which adjective belongs to which noun.",
        too_low="The model still does better than blind guessing: it can see which four adjectives are in the sentence, just not which noun each belongs to. And sometimes both nouns have the same adjective.",
    ),
    Prediction(
        "weight_on_itself",
        "In a thousand sentences of about 20 words, an embedding's dot product with itself is about 2.5, and with another word's embedding about 0. In this version, how much of its weight does a word give to itself, including any repetitions of the word?",
        slider=True,
        low=0,
        high=100,
        unit="%",
        close=0.12,
        explain="A score of 2.5 becomes e^2.5 ≈ 12, against about 1 for each of the other words. Some words occur more than once, which adds to their share.",
        too_low="Without matrices, a word can only look for vectors like its own, and its own is the best match.",
        too_high="A word's own score is only a few points ahead of the others here, because these embeddings are short vectors.",
    ),
    Prediction(
        "shuffle_the_words",
        "Now shuffle the eight words before the attention. What happens to the output vectors?",
        options={
            "different": (
                "they change, because every word has different neighbours now",
                "It has different *neighbours*, but the same *sentence*. The sum runs over all words, in whatever order they come.",
            ),
            "moved": (
                "they're the same vectors, only in the shuffled order",
                "Yes: a sum doesn't depend on the order of its terms.",
            ),
            "same": (
                "nothing at all: the output is exactly the same matrix",
                "Nearly: row *i* of the output belongs to row *i* of the input, so the rows move along with the words.",
            ),
        },
    ),
    Prediction(
        "score_of_the_cat",
        "On paper: what is the score of *the* (query) against *cat* (key), before scaling?",
        low=-100,
        high=100,
        close=0.001,
        explain="q = (1, 0, 1) · W_Q = (2, 0, 1), and the key of *cat* is (0, 2, 1) · W_K = (2, 1, 0), so the score is 2·2 + 0·1 + 1·0 = 4.",
    ),
]
