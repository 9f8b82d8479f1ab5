"""Questions of lesson 07, encoder and decoder."""

from helpers.exercises.content import Question, right, wrong

QUESTIONS = [
    Question(
        "what_layer_norm_sees",
        "A batch has the shape (B, T, D). Over which dimension does layer normalisation take the mean and the variance?",
        "single",
        [
            right(
                "Over D: each position by itself.",
                "Yes, which is why gain and bias have the shape (D,).",
            ),
            wrong(
                "Over B: each feature across the batch.",
                "That is batch normalisation. A sentence would then depend on the others in its batch.",
            ),
            wrong(
                "Over T and D: each sentence by itself.",
                "Then padding would count, and positions would depend on each other.",
            ),
            wrong(
                "Over T: each feature across the sentence.",
                "Then a decoder could see the future through the mean.",
            ),
        ],
    ),
    Question(
        "where_the_norm_stands",
        "Match each formula with its name.",
        "match",
        answer={
            "LN(x + f(x))": "post-norm, the paper of 2017",
            "x + f(LN(x))": "pre-norm, most models since",
            "LN(x) + f(LN(x))": "neither: the skip path is normalised",
        },
        why="In both post-norm and pre-norm the skip path carries x itself.",
    ),
    Question(
        "three_uses",
        "Where do queries, keys and values come from in cross-attention?",
        "single",
        [
            right(
                "Queries from the decoder, keys and values from the encoder's output.",
                "Yes. The decoder is the side that generates, so it asks, and the source answers.",
            ),
            wrong(
                "Queries from the encoder, keys and values from the decoder.",
                "It's the other way round: the side that generates has the queries.",
            ),
            wrong(
                "Queries, keys and values all from the encoder's output.",
                "That is the encoder's own self-attention.",
            ),
            wrong(
                "Queries and keys from the decoder, values from the encoder.",
                "Every key needs its value, so both come from the encoder.",
            ),
        ],
    ),
    Question(
        "memory_of_each_layer",
        "There are six encoder layers and six decoder layers. What does decoder layer 2 read from the encoder?",
        "single",
        [
            right(
                "The output of encoder layer 6, projected with a W_K and a W_V of its own.",
                "Yes, like every decoder layer.",
            ),
            wrong(
                "The output of encoder layer 2, its counterpart.",
                "Drawings with parallel arrows suggest it, but only the last encoder layer's output is passed on.",
            ),
            wrong(
                "The keys and values that decoder layer 1 has computed.",
                "Each decoder layer projects the encoder's output with matrices of its own.",
            ),
            wrong(
                "Nothing, because only decoder layer 1 has cross-attention.",
                "Every decoder layer has cross-attention.",
            ),
        ],
    ),
    Question(
        "parameters_of_feed_forward",
        "How many parameters does the paper's feed-forward network have, 512 → 2048 → 512, with biases?",
        "number",
        [
            wrong("2097152", "Those are the two matrices. Add the biases, 2048 and 512."),
            wrong("1048576", "That is one of the two matrices."),
            wrong("2099200", "The second bias, of 512, is missing."),
            wrong(
                "1050624",
                "That is one layer with its bias, or an attention layer. There are two matrices of 512 × 2048.",
            ),
        ],
        answer=2099712,
        why="512 · 2048 + 2048 + 2048 · 512 + 512.",
    ),
    Question(
        "what_dropout_does",
        "Which of these are true of dropout with p = 0.1?",
        "multiple",
        [
            right(
                "In training, a tenth of the activations is set to zero.",
                "True, and a different tenth each time.",
            ),
            right(
                "The others are divided by 0.9.",
                "True: that keeps the expected sum the same.",
            ),
            wrong(
                "A tenth of the weights is removed.",
                "Not so: the weights stay, and activations are set to zero.",
            ),
            wrong("It stays on when the model translates.", "Not so: model.eval() turns it off."),
        ],
    ),
    Question(
        "memory_shape",
        "A source of 7 tokens and a target of 5, width 512, one sentence, 8 heads. What is the shape of the cross-attention's weights?",
        "shape",
        [
            wrong("(1, 8, 7, 5)", "Rows are queries, and the queries come from the target."),
            wrong("(1, 8, 5, 5)", "That is the decoder's self-attention."),
            wrong("(1, 8, 7, 7)", "That is the encoder's self-attention."),
        ],
        answer="(1, 8, 5, 7)",
        why="(B, H, T, S).",
    ),
    Question(
        "why_residual",
        "Explain to a friend who knows matrices but no neural networks why a deep stack is easier to train with paths around its layers.",
        "open",
        answer="Without the path, every layer must pass on all it was given, and learns to do so from random weights; an error at the end reaches the first layer only as a long product of matrices, which shrinks or grows with the depth (the norms hold its size, but not what it says). With the path, a layer that does nothing passes x on unchanged, so it only has to learn what to add; and the derivative of x + f(x) is one plus something, so a part of the error reaches every layer undiminished. (In pre-norm exactly so; in post-norm each norm rescales it.) And without the paths the words' vectors become alike: after two layers a tenth of each is its own, after four nothing.",
    ),
    Question(
        "is_it_a_cnn",
        "Someone says: 'A Transformer is a CNN with attention.' What is right about it and what is wrong?",
        "open",
        answer="The paper itself remarks that the feed-forward network can be described as two convolutions of kernel size 1. But a kernel of size 1 sees one position; nothing is convolved over positions. What moves information between positions is attention alone. ConvS2S is a model of which the sentence would be true.",
    ),
]
