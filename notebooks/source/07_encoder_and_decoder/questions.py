"""Questions of lesson 07, encoder and decoder."""

from helpers.exercises.content import Prediction, Question, right, wrong

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
                "Yes. The decoder is the side that generates, so it has the queries, and the "
                "source has the keys and values.",
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
                "That is one of the two linear layers with its bias, or a whole attention layer. Here there are two matrices of 512 × 2048.",
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
            wrong("(1, 5, 7)", "The dimension of the heads is missing."),
            wrong("(8, 5, 7)", "The batch has one sentence, and its dimension is missing."),
        ],
        answer="(1, 8, 5, 7)",
        why="(B, H, T, S).",
    ),
    Question(
        "why_residual",
        "Explain to a friend who knows about matrices, but not about neural networks, why a deep stack is easier to train with paths around its layers.",
        "open",
        answer="Without the path, every layer has to pass on everything in its input, and it has "
        "to learn this from random weights. The gradient reaches the first layer only "
        "through a long product of matrices, which shrinks or grows with the depth. Norms "
        "preserve the size of the gradient, but not the information in it. With the "
        "path, a layer that does nothing passes x on unchanged, so it only has to learn "
        "what to add. The derivative of x + f(x) is 1 plus something, so a part of the "
        "gradient reaches every layer undiminished. That's exactly true in pre-norm, "
        "while in post-norm each norm rescales it. And without the paths all words of a "
        "sentence become alike: after two layers only a small part of each vector is "
        "still the word's own, and after four layers none of it is.",
    ),
    Question(
        "is_it_a_cnn",
        "Someone says: 'A Transformer is a CNN with attention.' What is right about it and what is wrong?",
        "open",
        answer="The paper itself remarks that the feed-forward network can be described as two "
        "convolutions of kernel size 1. But a kernel of size 1 covers a single position, "
        "so nothing is convolved over positions. Only attention moves information between "
        "positions. The claim would be true of ConvS2S (Gehring et al. 2017), which is "
        "built from convolutions and attention.",
    ),
    Question(
        "name_the_parts",
        "Match each name in the picture with what it is.",
        "match",
        answer={
            "encoder": "a stack of N layers that reads the source",
            "encoder layer": "self-attention and feed-forward, each with add & norm",
            "sublayer": "one attention or one feed-forward network, with a path around it",
            "head": "one of several attentions inside a sublayer",
            "memory": "what the last encoder layer returns",
        },
        why="A stack is made of layers, a layer of sublayers, and an attention sublayer of heads.",
    ),
    Question(
        "pencil_norm",
        "Normalise the vector (2, 4, 4, 6) with a pencil: gain 1, bias 0, and leave out ε. What does the last entry become?",
        "number",
        [
            wrong(
                "1.22",
                "That divides the squares by n − 1 = 3. Layer normalisation divides by n = 4.",
            ),
            wrong("1", "That divides by the variance, 2. Divide by its square root."),
            wrong("2", "You've subtracted the mean. Now divide by the standard deviation."),
            wrong("4.24", "Subtract the mean, 4, before you divide."),
        ],
        answer=1.414,
        why="The mean is 4, the variance (4 + 0 + 0 + 4) / 4 = 2, and 2 / √2 = 1.41.",
        tolerance=0.01,
    ),
    Question(
        "identical_layers",
        "The paper calls its six encoder layers “identical”. What do they have in common?",
        "single",
        [
            right(
                "Their structure and sizes. Each has weights of its own.",
                "Yes. Sharing the weights is possible too, and a later model, ALBERT, does it (Lan et al. 2019).",
            ),
            wrong(
                "Everything: it's one layer, applied six times.",
                "That describes ALBERT (Lan et al. 2019). In the Transformer each layer has weights of its own.",
            ),
            wrong(
                "Their attention matrices. Only the feed-forward networks differ.",
                "Each layer has attention matrices of its own as well.",
            ),
            wrong(
                "Their input: all six read the embeddings.",
                "Each layer reads what the layer below returned.",
            ),
        ],
    ),
    Question(
        "sublayers_in_order",
        "Put these in order, from the target's embeddings to the next word.",
        "order",
        answer=[
            "masked self-attention",
            "cross-attention",
            "feed-forward network",
            "linear layer and softmax",
        ],
        why="Cross-attention is a decoder layer's second sublayer. The linear layer and the softmax come once, after the last layer.",
    ),
]

PREDICTIONS = [
    Prediction(
        "attention_alone",
        "A sentence goes through four attention layers with nothing around them. How much of each word's vector is still its own?",
        slider=True,
        low=0,
        high=100,
        unit="%",
        close=0.06,
        too_high="Attention averages, and the next layer averages the averages. The differences between words shrink faster with every layer.",
        explain="Every output of attention is an average of values, so the words become more alike with every layer.",
        ask_why=True,
    ),
    Prediction(
        "size_after_twelve",
        "The entries of the input have a typical size of 1. What is their typical size after twelve attention layers, each with a path around it?",
        options={
            "same": (
                "still about 1, because attention only averages",
                "Attention averages, but now the average is *added* to x, twelve times.",
            ),
            "few": (
                "about 3 or 4, because twelve outputs are added to x",
                "That would be so if every layer added something of the same size. But each layer adds in proportion to the x it reads, and x is growing.",
            ),
            "many": (
                "more than 10",
                "Yes. The larger x gets, the more the next layer adds, so the growth compounds.",
            ),
        },
    ),
    Prediction(
        "share_of_feed_forward",
        "In the paper, the feed-forward network goes from 512 to 2048 numbers and back. What "
        "share of an encoder layer's parameters does it have? The rest is nearly all attention.",
        slider=True,
        low=0,
        high=100,
        unit="%",
        close=0.06,
        too_low="Attention has four matrices of 512 × 512. Each of the two feed-forward matrices is 512 × 2048, as large as those four together.",
        too_high="Attention isn't that small: its four matrices of 512 × 512 are together as large as one of the two feed-forward matrices.",
    ),
    Prediction(
        "deeper_or_wider",
        "A small translator has two layers of width 32. Give it four layers, or double its width to 64, and train them all for the same number of steps. Which one ends with the lower validation loss?",
        options={
            "deeper": (
                "four layers: more rounds of attention",
                "Depth helps a little here. But every embedding still has to fit into 32 numbers, and that limits this small model more.",
            ),
            "wider": (
                "twice the width: more room per word",
                "Yes, in this short run on this corpus. It isn't a law: the wider model also has more parameters.",
            ),
            "same": (
                "neither: the difference is less than 0.1",
                "The two differ clearly, as the figure shows.",
            ),
        },
    ),
    Prediction(
        "without_norm",
        "Take the layer norms out of the four-layer model and train it in the same way. How does it end?",
        options={
            "hardly": (
                "nearly as well as with the norms, since training adjusts the weights",
                "That works only if training starts from outputs of a sensible size, and the "
                "outputs of four layers without a norm are far too large.",
            ),
            "slower": (
                "somewhat worse, but it does learn to translate a little",
                "Two layers learn without norms. With four layers, the sums have grown too large "
                "by the time they reach the output.",
            ),
            "ruined": (
                "worse than guessing each word by its frequency",
                "Yes. Its first loss is so large that the whole run is spent bringing it down.",
            ),
        },
        ask_why=True,
    ),
    Prediction(
        "keys_from_memory",
        "Our translator has three encoder layers and three decoder layers. Where do its three cross-attentions get their keys?",
        options={
            "once": (
                "computed once from the memory, and shared by all three",
                "The memory is the same for all three, but each projects it with a W_K of its own.",
            ),
            "matching": (
                "decoder layer 1 from encoder layer 1, and so on",
                "Drawings with parallel arrows suggest it. Only the last encoder layer's output leaves the encoder.",
            ),
            "each": (
                "computed three times from the last encoder layer's output",
                "Yes: one memory, and three pairs of W_K and W_V.",
            ),
        },
    ),
    Prediction(
        "parameters_of_base",
        "How many million parameters does this model have? Count on paper: attention, feed-forward, norms, six layers on each side, one embedding.",
        unit="million",
        low=1,
        high=1000,
        close=0.05,
        too_low="Two things are easy to forget: cross-attention in every decoder layer, with "
        "four more matrices, and the embedding, with 37,000 × 512.",
        too_high="The embedding counts once, although it's used in three places.",
    ),
    Prediction(
        "off_by_one",
        "At a width of 4: by how much is the result too small if the squares are divided by n − 1 instead of n?",
        slider=True,
        low=0,
        high=40,
        unit="%",
        close=0.06,
        too_low="The variance becomes 4/3 times as large, so the result is divided by a larger number.",
        too_high="The variance becomes 4/3 times as large, but it's under a square root.",
    ),
    Prediction(
        "larger_gradient",
        "Twelve fresh layers and one backward pass. Which of the two, post-norm or "
        "pre-norm, gives the *last* layers the larger gradient?",
        options={
            "post": (
                "post-norm, because every layer's output has been normalised",
                "Yes. In pre-norm the sum has grown by then, so a late layer changes it less.",
            ),
            "pre": (
                "pre-norm, because its path to the loss is never interrupted",
                "It's true that the path isn't interrupted. But the sum has grown by then, so a "
                "late layer changes it less.",
            ),
            "same": (
                "both the same, since the last layers are next to the loss",
                "The norm after the last layer makes the difference: in pre-norm it divides by the size of a sum that has grown.",
            ),
        },
    ),
]
