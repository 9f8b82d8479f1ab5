"""Questions of lesson 05, positional encoding."""

from helpers.exercises.content import Prediction, Question, right, wrong

QUESTIONS = [
    Question(
        "what_equivariance_means",
        "Self-attention without positions and without a causal mask reads a shuffled sentence. What comes out?",
        "single",
        [
            right(
                "The same vectors, shuffled in the same way.",
                "Yes: shuffle the input, and the output is shuffled too.",
            ),
            wrong(
                "The same vectors, in the old order.",
                "That would be invariance, where the output doesn't change at all. Here each "
                "output moves along with its word.",
            ),
            wrong(
                "Different vectors, because every word has new neighbours.",
                "Each word is compared with the same words as before. Their positions play no part.",
            ),
            wrong(
                "The average of all words, at every position.", "Only if all the scores were equal."
            ),
        ],
    ),
    Question(
        "fast_and_slow_columns",
        "Which columns of the sinusoidal table tell position 3 from position 4?",
        "single",
        [
            right(
                "Mainly the first ones, with the fast waves.",
                "Yes. They change like the last bits of a counter.",
            ),
            wrong(
                "Mainly the last ones, with the slow waves.",
                "Those waves are so slow that two neighbouring positions look the same.",
            ),
            wrong(
                "All of them to the same degree.",
                "Their frequencies differ by a factor of up to 10,000.",
            ),
            wrong(
                "None of them, because neighbours look alike everywhere.",
                "The first pair of columns turns by a whole radian per position.",
            ),
        ],
    ),
    Question(
        "why_sine_and_cosine",
        "Why does each frequency have both a sine and a cosine?",
        "single",
        [
            right(
                "A step of k is then one rotation of the pair, the same at every position.",
                "Yes. With the sine alone there is no such matrix.",
            ),
            wrong(
                "The sine is zero at some positions, and the cosine fills in for it there so that nothing is lost.",
                "It does help there, but the reason is the rotation.",
            ),
            wrong(
                "One of them is added in the encoder, the other in the decoder.",
                "Sines and cosines are added in both of them.",
            ),
            wrong(
                "The width of the table has to be an even number.",
                "The width has to be even because of the pairs, not the other way round.",
            ),
        ],
    ),
    Question(
        "which_axis",
        "x has the shape (32, 50, 512): 32 sentences of 50 words. What is the shape of the part of the table that is added?",
        "shape",
        [
            wrong("(32, 512)", "That is one vector per sentence, so all its words would share it."),
            wrong(
                "(32, 50)",
                "That is one number per word. Positions are vectors of the model's width.",
            ),
            wrong("(512, 50)", "The rows of the table are positions, so the 50 comes first."),
        ],
        answer="(50, 512)",
        why="One row per word. Broadcasting repeats it for all sentences.",
    ),
    Question(
        "who_uses_what",
        "Match each model with how it encodes positions.",
        "match",
        answer={
            "the Transformer of 2017": "sinusoids, added",
            "BERT": "a learned table, added",
            "GPT-2": "a learned table, added",
            "models with RoPE": "rotations of queries and keys",
        },
        why="BERT and GPT-2 learn their positions, whereas the 2017 model uses sinusoids.",
    ),
    Question(
        "position_beyond_the_table",
        "A model with 512 learned positions gets a text of 600 tokens. What happens?",
        "single",
        [
            right(
                "The text has to be cut or split, because the table has no row for its 513th token.",
                "Yes. BERT's limit of 512 tokens is the length of its table.",
            ),
            wrong(
                "The table goes on by its formula, only less precisely.",
                "A learned table has no formula. Sinusoids have one.",
            ),
            wrong(
                "Positions start again at 0 after 511.",
                "Only if somebody programs it that way, and then two words share a position.",
            ),
            wrong(
                "The last 88 tokens are treated as padding.",
                "Padding fills up texts that are too short. This one is too long.",
            ),
        ],
    ),
    Question(
        "angle_after_two_steps",
        "The first pair of columns rotates by 1 radian per position. Its point at position 0 is (sin 0, cos 0) = (0, 1). What is its sine at position 2, to two decimals?",
        "number",
        [
            wrong("0.84", "That is the sine at position 1."),
            wrong("-0.42", "That is the cosine at position 2."),
            wrong("0.03", "That is the sine of two degrees. The angles are in radians."),
        ],
        answer=0.909,
        tolerance=0.01,
        why="sin 2 = 0.91.",
    ),
    Question(
        "when_order_does_not_matter",
        "Name a task for which a model without positions is just right, and one for which it is hopeless. What about guessing the mood of a film review?",
        "open",
        answer="A model without positions is just right for questions about a set, such as the "
        "largest of several numbers, or whether a shopping basket contains milk. It's "
        "hopeless for translation, arithmetic and reversing. The mood of a review is in "
        "between. In many reviews single words are enough, so a bag of words does well, "
        "until somebody writes 'not good, not bad'.",
    ),
    Question(
        "add_or_concatenate",
        "Going deeper measures that the position can be read back better if word and position are concatenated. Why do most models add all the same?",
        "open",
        answer="Because adding needs no extra width. Concatenation reserves a fixed part of the "
        "width for positions, while a model that adds can learn how many directions to "
        "use for them. Our measurement used random words, which use all directions, and "
        "trained embeddings don't have to. And attention can still separate the two, "
        "because a projection can pick out the directions in which positions vary.",
    ),
]

PREDICTIONS = [
    Prediction(
        "reverse_without_positions",
        "Eight different letters out of twenty go in, and they should come out in reverse order. After training, how often is a letter right?",
        slider=True,
        low=0,
        high=100,
        unit="%",
        close=0.03,
        explain="Seven other letters are possible at each place, and one in seven is about 14%.",
        too_low="It can do better than guessing among all twenty letters, because it sees which eight there are.",
        too_high="To pick the right one of the seven other letters, the model would have to know where each of them is.",
        ask_why=True,
    ),
    Prediction(
        "which_is_more_alike",
        "Which vector is more similar to *dog* at position 300, measured by the cosine?",
        options={
            "word": (
                "*dog* at position 3: it's the same word",
                "The word's own entries are of size 1, and the position adds 300 to each of them. There isn't much left of *dog*.",
            ),
            "place": (
                "*cat* at position 300: it's the same position",
                "Yes: with 300 added to every entry, any two words look nearly the same.",
            ),
        },
    ),
    Prediction(
        "third_entry_by_hand",
        "What is the third entry of the row for position 3, to three decimals?",
        low=-1,
        high=1,
        close=0.02,
        explain="The second pair has the frequency 10000^(−2/4) = 0.01, so the third entry is sin(3 · 0.01) = 0.030.",
        too_high="Which frequency does the second pair have?",
        too_low="Which frequency does the second pair have?",
    ),
    Prediction(
        "dot_product_of_positions",
        "Take the dot product of the rows for positions *p* and *p*′. What does it depend on?",
        options={
            "both": (
                "on both positions: early ones give different values from late ones",
                "Each row does depend on its position. But both hands of the clock turn by the same angle when you move on, so the angle *between* them stays the same, wherever you start.",
            ),
            "distance": (
                "only on how far apart they are",
                "Yes: the angle between two hands of a clock doesn't change when both turn by the same amount.",
            ),
            "neither": (
                "on nothing: rows of different positions are orthogonal",
                "The rows are all different, but far from orthogonal: the slow columns are nearly the same for all 64 positions.",
            ),
        },
        ask_why=True,
    ),
    Prediction(
        "reading_the_position_back",
        "At D = 512, how often does the linear map read the exact position (one of 40) back from the *sum* of word and position?",
        slider=True,
        low=0,
        high=100,
        unit="%",
        close=0.08,
        too_low="Random vectors in 512 dimensions are almost at right angles, so most of the position is still there.",
        too_high="The vectors are only almost at right angles, so the 600 words blur the difference between neighbouring positions.",
    ),
    Prediction(
        "reverse_with_positions",
        "With the table added to the embeddings, how often does the same model now name the right letter?",
        slider=True,
        low=0,
        high=100,
        unit="%",
        close=0.03,
        explain="Knowing the position was all that the model lacked.",
    ),
    Prediction(
        "rotary_scores",
        "Query at 10 and key at 7, query at 40 and key at 37, query at 7 and key at 10. Which of the three scores are equal?",
        options={
            "first": (
                "the first two",
                "Yes: in both, the key comes 3 positions before the query.",
            ),
            "both": (
                "all three, because the distance is always 3",
                "The distance is always 3, but in the last case the key comes *after* the query, and a rotation the other way gives a different score.",
            ),
            "neither": (
                "none of them, because each vector is turned by a different angle",
                "It's true that each is turned by a different angle, but only the *difference* of the two angles enters a dot product.",
            ),
        },
    ),
]
