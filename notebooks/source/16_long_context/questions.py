"""Questions of lesson 16, who pays for long context?"""

from helpers.exercises.content import Prediction, Question, right, wrong

# fmt: off
QUESTIONS = [
    Question(
        "what_grows_with_the_square",
        "A text becomes ten times as long. Which of these become a hundred times as large?",
        "multiple",
        [
            wrong("The keys and values in the cache.",
                  "One key and one value per token, layer and head, so the cache becomes ten times as large."),
            right("The multiplications of attention when the whole text is read.",
                  "True: ten times as many queries, each with ten times as many keys."),
            wrong("The work of the feed-forward layers.",
                  "Each token passes through them by itself, so it becomes ten times as much."),
            wrong("The multiplications of attention for one new token, with a cache.",
                  "There's a single query for ten times as many keys, so it becomes ten times as much."),
            right("The attention weights, if all of them are stored at once.",
                  "True: there's one weight for every pair of a query and a key."),
        ],
    ),
    Question(
        "layers_for_a_window",
        "Every layer attends to the last 5 positions, the query's own included. A text has 101 tokens. How many layers does it take until the last output can depend on the first token?",
        "number",
        [
            wrong("20",
                  "That would be steps of 5 positions. The window includes the query itself, so each layer gets only 4 positions further back."),
            wrong("21",
                  "That's 101 divided by 5, rounded up. But each layer gets 4 positions further, not 5."),
            wrong("101",
                  "That's about what a window of 2 would take, which gets only one position further per layer."),
        ],
        answer=25,
        why="The first token is 100 positions back, and each layer gets 4 positions further.",
    ),
    Question(
        "a_causal_global_token",
        "In a decoder, the first token is global, so every token attends to it and it attends to every token that the causal mask permits. Does that help information from token 50 to reach the last token?",
        "single",
        [
            wrong("Yes, in two layers: it collects from token 50 and passes it on.",
                  "In an encoder it would. Here the causal mask hides token 50 from everything that comes before it, the first token included."),
            right("No, because the first token never attends to token 50.",
                  "Every token attends to it, but it has attended to nothing except itself."),
            wrong("Only if token 50 is inside the last token's window anyway.",
                  "Then the last token needs no help. The question is what a global token adds."),
        ],
    ),
    Question(
        "what_tiling_saves",
        "What does working through the keys in tiles save?",
        "single",
        [
            wrong("Multiplications: most of the weights are nearly zero, so their tiles are skipped.",
                  "No tile is skipped. Every score is computed, and the result is exactly attention."),
            right("Memory and the traffic to it, because the n × n weights never exist at once.",
                  "Yes. The sums are the same, and on a GPU the traffic is what takes the time."),
            wrong("Exponentials: it replaces the softmax with a cheaper function.",
                  "The softmax is computed exactly, only in a different order."),
            wrong("Keys and values: the cache becomes smaller.",
                  "All keys and values are still needed. What disappears is the matrix of weights."),
        ],
    ),
    Question(
        "state_shape",
        "Linear attention with keys of width 64 and values of width 32 has read 1,000 tokens. What is the shape of its state?",
        "shape",
        [
            wrong("(1000, 32)",
                  "That's the shape of the values. The state doesn't keep them apart."),
            wrong("(1000, 1000)", "That would be the weights, which are never computed."),
            wrong("(32, 64)",
                  "Rows are features of the key, columns those of the value: (64, 32)."),
        ],
        answer="(64, 32)",
        why="It's a sum of outer products φ(k) vᵀ, whatever the number of tokens.",
    ),
    Question(
        "order_of_linear_attention",
        "Why can't ordinary attention be computed as Q (Kᵀ V)?",
        "single",
        [
            wrong("Because Kᵀ V has the wrong shape for a product with Q.",
                  "The shapes fit: (T, K) times (K, D_v)."),
            wrong("Because a matrix product isn't commutative.",
                  "True, but no factors change places here. Only the brackets move, and matrix products are associative."),
            wrong("Because the division by √d_k comes between the two products.",
                  "A number can be moved anywhere in a product."),
            right("Because the softmax comes between the two products.",
                  "Yes. It needs the complete row of scores before the values are mixed."),
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
        "Match each method with what it gives up.",
        "match",
        answer={
            "a window in every layer": "direct links further back than the window",
            "tiles with an online softmax": "nothing in the result, only the stored weights",
            "linear attention": "exact look-up among many keys",
            "grouped-query attention": "a separate key and value per head",
        },
        why="Each of them saves something different, and that's why some models combine them.",
    ),
]

PREDICTIONS = [
    Prediction(
        "novel_in_the_cache",
        "GPT-3's 175 billion parameters take 350 gigabytes as 16-bit numbers. Suppose its window were long enough for a novel of 130,000 tokens. How much memory do the keys and values of the novel take?",
        options={
            "small": ("about 6 GB, a small part of what the parameters take",
                      "A key and a value together are only 24,576 numbers per layer, which looks harmless. But there are 96 layers and 130,000 tokens."),
            "middle": ("about 60 GB, a sixth of what the parameters take",
                       "That's roughly what a tenth of the layers or heads would need. All 96 layers keep keys and values for all 96 heads."),
            "large": ("about 600 GB, more than the parameters take",
                      "Yes: it's nearly 5 megabytes per token, and anyone who pastes another novel needs another cache."),
        },
    ),
    Prediction(
        "what_a_mask_saves",
        "We give the attention of lesson 04 a text of 2,048 tokens and a mask that allows each query only the last 64 keys. How long do its three lines take, compared with no mask at all?",
        options={
            "little": ("a small fraction of the time, because 97% of the pairs are gone",
                       "They're gone from the result but not from the work, because `query @ key.T` computes every score before the mask is applied."),
            "half": ("about half the time, because the scores are still computed but the values aren't mixed",
                     "The second product is computed in full as well. It multiplies most values by zero."),
            "more": ("as long, or even longer",
                     "Yes. Every score is computed, then most are overwritten with −∞, and that's an additional step."),
        },
    ),
    Prediction(
        "the_window_fails",
        "A model with two layers and a window that reaches 7 positions to each side is trained to report the marked symbol at its last position. How does its accuracy depend on how far back the mark is?",
        options={
            "slope": ("it falls a little with every position that it is further back",
                      "A message that is passed on doesn't have to get weaker: layer 1 can copy it whole. It either gets through or it doesn't."),
            "cliff": ("it's nearly perfect as far as two layers reach, and then no better than chance",
                      "Yes. Within reach the model has learned to pass the message on; beyond it, nothing about the mark arrives."),
            "flat": ("it's nearly perfect at every distance, once the model is trained",
                     "Training can't change which positions are connected. Beyond the reach, the gradient is exactly zero, so there's nothing to learn from."),
        },
        recall="layers_for_a_window",
    ),
    Prediction(
        "pairs_from_a_matrix",
        "We add up 512 random pairs of a key and a value, 64 numbers each, in one 64 × 64 matrix, without φ, then read with every key. For what share of the keys is the result closer to the right value than to any other?",
        slider=True,
        low=0,
        high=100,
        unit="%",
        explain="In 64 dimensions only 64 vectors can be at right angles to one another. All others overlap a little, so their values interfere with each other.",
        close=0.08,
        too_low="Random vectors of 64 numbers are nearly at right angles to one another, so the interference from the other 511 pairs partly cancels, and a fair number of pairs survive.",
        too_high="Only 64 vectors can be exactly at right angles in 64 dimensions. The other pairs overlap, and with 512 of them the interference is larger than the value itself.",
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
        too_high="A layer with a window drops everything older, so 50 of the 60 layers keep next to nothing of a text this long.",
    ),
]
