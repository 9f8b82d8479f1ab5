"""Questions of lesson 16, who pays for long context?"""

from helpers.exercises.content import Prediction, Question, right, wrong

QUESTIONS = [
    Question(
        "what_grows_with_the_square",
        "A text becomes ten times as long. Which of these become a hundred times as large?",
        "multiple",
        [
            wrong(
                "The keys and values in the cache.",
                "One key and one value per token, layer and head, so the cache becomes ten times as large.",
            ),
            right(
                "The multiplications of attention when the whole text is read.",
                "True: ten times as many queries, each with ten times as many keys.",
            ),
            wrong(
                "The work of the feed-forward layers.",
                "Each token passes through them by itself, so it becomes ten times as much.",
            ),
            wrong(
                "The multiplications of attention for one new token, with a cache.",
                "There is one query, and it meets ten times as many keys.",
            ),
            right(
                "The attention weights, if somebody wants to look at all of them.",
                "True: one per query and key.",
            ),
        ],
    ),
    Question(
        "layers_for_a_window",
        "Every layer attends to the last 5 positions, the query's own included. A text has 101 tokens. How many layers does it take until the last output can depend on the first token?",
        "number",
        [
            wrong(
                "20",
                "That would be steps of 5 positions. The window includes the query itself, so each layer looks only 4 positions back.",
            ),
            wrong("21", "That's 101 divided by 5. Each layer gets 4 positions further, not 5."),
            wrong(
                "101",
                "That would be a window of 2, which gets one position further at each layer.",
            ),
        ],
        answer=25,
        why="The first token is 100 positions back, and each layer gets 4 positions further.",
    ),
    Question(
        "a_causal_global_token",
        "In a decoder, the first token is global: all attend to it, and it's allowed to attend to all, as far as the causal mask permits. Does it help the last token to hear of token 50?",
        "single",
        [
            wrong(
                "Yes, in two layers: it collects from token 50 and passes on.",
                "In an encoder it would. Here the causal mask hides token 50 from everything that comes before it, the first token included.",
            ),
            right(
                "No, because the first token never sees token 50.",
                "Yes. It's read by all, but it has read nothing except itself.",
            ),
            wrong(
                "Only if token 50 is inside the last token's window anyway.",
                "Then the last token needs no help. The question is what a global token adds.",
            ),
        ],
    ),
    Question(
        "what_tiling_saves",
        "What does working through the keys in tiles save?",
        "single",
        [
            wrong(
                "Multiplications: most of the weights are nearly zero, so their tiles are skipped.",
                "No tile is skipped. Every score is computed, and the result is exactly attention.",
            ),
            right(
                "Memory and the traffic to it, because the n × n weights never exist at once.",
                "Yes. The sums are the same, and on a GPU the traffic is what takes the time.",
            ),
            wrong(
                "Precision: it replaces the softmax with a cheaper function.",
                "The softmax is computed exactly, by another order of the same steps.",
            ),
            wrong(
                "Keys and values: the cache becomes smaller.",
                "All keys and values are still needed. What disappears is the matrix of weights.",
            ),
        ],
    ),
    Question(
        "state_shape",
        "Linear attention with keys of width 64 and values of width 32 has read 1,000 tokens. What is the shape of its state?",
        "shape",
        [
            wrong(
                "(1000, 32)", "That's the shape of the values. The state doesn't keep them apart."
            ),
            wrong("(1000, 1000)", "That would be the weights, which are never computed."),
            wrong(
                "(32, 64)", "Rows are features of the key, columns those of the value: (64, 32)."
            ),
        ],
        answer="(64, 32)",
        why="It's a sum of outer products φ(k) vᵀ, whatever the number of tokens.",
    ),
    Question(
        "order_of_linear_attention",
        "Why can't ordinary attention be computed as Q (Kᵀ V)?",
        "single",
        [
            wrong(
                "Because Kᵀ V has the wrong shape for a product with Q.",
                "The shapes fit: (T, K) times (K, D_v).",
            ),
            wrong(
                "Because a matrix product isn't commutative.",
                "True, but nothing is exchanged here. Only the brackets move, and matrix products are associative.",
            ),
            wrong(
                "Because the division by √d_k comes between the two products.",
                "A number can be moved anywhere in a product.",
            ),
            right(
                "Because the softmax stands between the two products.",
                "Yes. It needs the complete row of scores before the values are mixed.",
            ),
        ],
    ),
    Question(
        "what_linear_gives_up",
        "Two models of equal size read a telephone directory of a thousand entries, one with ordinary attention, one with linear attention. Then they are asked for one number. What do you expect, and what would you measure to find out?",
        "open",
        answer="Ordinary attention keeps a key and a value for every entry, so it can pick the right one "
        "however many there are. Linear attention keeps the sum of all of them in a matrix of fixed size: "
        "with many more entries than the keys are wide, they overlap, and what is read is mixed with the "
        "others. Measure the share of numbers that come back right against the number of entries, for "
        "several widths, with both models trained on the task, since a trained model can choose its keys "
        "better than chance.",
    ),
    Question(
        "which_for_which",
        "Match each cure with what it gives up.",
        "match",
        answer={
            "a window in every layer": "direct links further back than the window",
            "tiles with an online softmax": "nothing in the result, only the stored weights",
            "linear attention": "exact look-up among many keys",
            "grouped-query attention": "a separate key and value per head",
        },
        why="Each saves in another place, so they can be combined, and today's models do.",
    ),
]

PREDICTIONS = [
    Prediction(
        "novel_in_the_cache",
        "GPT-3's 175 billion parameters take 350 gigabytes as 16-bit numbers. Suppose its window were long enough for a novel of 130,000 tokens. How much memory do the keys and values of the novel take?",
        options={
            "small": (
                "about 6 GB, a small part of what the parameters take",
                "A key and a value look harmless: together 24,576 numbers per layer. But there are 96 layers, and 130,000 tokens.",
            ),
            "middle": (
                "about 60 GB, a sixth of what the parameters take",
                "That is what an eighth of the layers or heads would need. All 96 layers keep keys and values for all 96 heads.",
            ),
            "large": (
                "about 600 GB, more than the parameters take",
                "Yes: nearly 5 megabytes per token, and every reader of another novel needs a cache of their own.",
            ),
        },
    ),
    Prediction(
        "what_a_mask_saves",
        "2,048 tokens, and a mask that allows each query only the last 64 keys. Compared with no mask at all, how long do the three lines of lesson 04 take?",
        options={
            "little": (
                "a small fraction of the time, because 97% of the pairs are gone",
                "They are gone from the result, not from the work: `query @ key.T` computes every score, and the mask comes afterwards.",
            ),
            "half": (
                "about half the time, because the scores are still computed but the values aren't mixed",
                "The second product is computed in full as well. It multiplies most values by zero.",
            ),
            "more": (
                "as long, or even longer",
                "Yes. Every score is computed, then most are overwritten with −∞, and that's an additional step.",
            ),
        },
    ),
    Prediction(
        "how_far_back",
        "Each layer attends to the last 8 positions, the query's own included, and 4 such layers are stacked. How many positions back is the furthest token that the last output can depend on?",
        explain="A window of 8 includes the query, so each layer gets 7 positions further: 4 · 7 = 28.",
        low=0,
        close=0.0,
        unit="positions",
        too_low="Each layer hears from positions which have themselves heard from others in the layer below, so the distances add up: 7 positions per layer.",
        too_high="The distances add up, they don't multiply, and the window of 8 includes the query: 7 positions per layer.",
        ask_why=True,
    ),
    Prediction(
        "the_window_fails",
        "A model with two layers, and a window that reaches 7 positions to each side, is trained to report a marked symbol somewhere in the text. How does its accuracy depend on the distance of the mark?",
        options={
            "slope": (
                "it falls a little with every position, because the message gets weaker",
                "A message that is passed on doesn't have to get weaker: layer 1 can copy it whole. It either gets through or it doesn't.",
            ),
            "cliff": (
                "it's nearly perfect as far as two layers reach, and then no better than chance",
                "Yes. Within reach the model has learned to pass the message on; beyond it, nothing about the mark arrives.",
            ),
            "flat": (
                "it stays high, because training teaches the model to pass the message on",
                "Training can't change which positions are connected. Beyond the reach, the gradient is exactly zero, so there's nothing to learn from.",
            ),
        },
        recall="layers_for_a_window",
    ),
    Prediction(
        "what_tiles_save",
        "Tiled attention never stores the n × n weights. How many of the multiplications of ordinary attention does it need?",
        options={
            "fewer": (
                "about half: the rescaling replaces the second pass",
                "The second pass never multiplied anything by the values. Both products are still computed in full.",
            ),
            "same": (
                "in the matrix products, exactly as many",
                "Yes: every query meets every key, and every value is mixed in.",
            ),
            "linear": (
                "a number that grows with n instead of n²",
                "It's the memory that grows with n. Every query still meets every key.",
            ),
        },
        recall="what_tiling_saves",
    ),
    Prediction(
        "pairs_from_a_matrix",
        "Keys and values of 64 numbers each: 512 random pairs are added up in one 64 × 64 matrix. For how many of the 512 keys do we read back something that is closest to the right value?",
        slider=True,
        low=0,
        high=100,
        unit="%",
        explain="In 64 dimensions only 64 vectors can be at right angles to one another. All others overlap a little, and their values disturb each other.",
        close=0.08,
        too_low="Random vectors of 64 numbers are nearly at right angles to one another, so the disturbances of the other 511 pairs partly cancel, and a fair number of pairs survive.",
        too_high="Only 64 vectors can be exactly at right angles in 64 dimensions. The other pairs overlap, and with 512 of them the disturbance is larger than the value itself.",
        ask_why=True,
    ),
    Prediction(
        "cache_of_a_hybrid",
        "In a model of 60 layers, 50 attend only to the last 1,024 tokens and 10 to everything. At 131,072 tokens, how large is its cache compared with 60 full layers?",
        slider=True,
        low=0,
        high=100,
        unit="%",
        explain="The ten full layers keep everything, and the other fifty keep less than a hundredth of the text.",
        close=0.03,
        too_low="The ten full layers keep everything, and they are a sixth of all layers.",
        too_high="A layer with a window drops what is older, so 50 of the 60 layers keep next to nothing of a text this long.",
    ),
    Prediction(
        "the_sceptics_model",
        "A GPT and an LSTM with one attention head, equal in parameters and seconds of training, learn to continue fairy tales. Which has the lower loss on tales it hasn't seen?",
        options={
            "gpt": (
                "the GPT, clearly (by more than 0.05 nats per character)",
                "That's what happens at scale. With a few seconds and a small model, the order of the letters is given to the LSTM for free, while the GPT has to learn what its positions mean.",
            ),
            "rnn": (
                "the LSTM with one head, clearly",
                "Small models with little training are where a recurrence is strong. It says nothing yet about large ones.",
            ),
            "close": (
                "they are within 0.05 nats per character of each other",
                "Close races like this are why the fair comparison (equal parameters, equal time) matters more than the name.",
            ),
        },
    ),
]
