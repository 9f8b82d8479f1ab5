"""Questions of lesson 10, build a Transformer: ten parts. The tested ones stand in `own_transformer`."""

from helpers.exercises.content import Prediction, Question, right, wrong

QUESTIONS = [
    Question(
        "order_of_an_encoder_layer",
        "Put the parts of a pre-norm encoder layer in the order in which a vector passes through them.",
        "order",
        answer=[
            "layer norm",
            "self-attention",
            "add to x",
            "a second layer norm",
            "feed-forward",
            "add again",
        ],
        why="Layer norm, self-attention, add, then layer norm, feed-forward, add.",
    ),
    Question(
        "weights_that_do_not_fit",
        "The translator was trained with pre-norm. Somebody loads its weights, name by name, into a post-norm model of the same size. What happens?",
        "single",
        [
            right(
                "All but the two final norms fit, and the output is nonsense.",
                "Yes. Post-norm has no final norms, so four tensors are left over and `load_state_dict` names them. All other shapes agree, but the numbers mean something else.",
            ),
            wrong(
                "The shapes don't fit, so loading fails as early as the first layer.",
                "A norm has the same shape wherever it is.",
            ),
            wrong(
                "All weights fit, and it translates a little worse than before.",
                "The vectors between the layers are far larger or smaller than in training, so every layer after the first gets inputs it was never trained on.",
            ),
            wrong(
                "Nothing changes, because addition and normalisation can be swapped.",
                "LN(x + y) and x + LN(y) are different functions.",
            ),
        ],
    ),
    Question(
        "qkv_below_each_other",
        "PyTorch's nn.MultiheadAttention stacks W_Q, W_K and W_V on top of one another in one matrix, in_proj_weight, stored as (out, in). What is its shape for d_model = 256?",
        "shape",
        [
            wrong("(256, 768)", "That is (in, out). PyTorch stores a linear layer as (out, in)."),
            wrong("(256, 256)", "That is the shape of one of the three."),
            wrong(
                "(3, 256, 256)",
                "Each of the three is a block of rows in one matrix, with no extra dimension.",
            ),
        ],
        answer="(768, 256)",
        why="Three matrices with 256 rows each, on top of one another.",
    ),
    Question(
        "same_tokens_other_logits",
        "Your model generates the same tokens as the course's, but at each position its logits differ by a constant. What do you know?",
        "multiple",
        [
            right(
                "The argmax is the same.",
                "True: it doesn't change when the same number is added to all logits.",
            ),
            right(
                "The probabilities are the same.",
                "True: a constant added to all logits cancels in the softmax.",
            ),
            right(
                "A test on tokens alone would have passed.",
                "True, which is why the comparison looks at the logits as well.",
            ),
            wrong(
                "The model is right.",
                "Not quite: it might return log-probabilities, which differ from logits by just such a constant. If you "
                "mistake them for logits, for instance to compare the scores of two models, you "
                "get wrong results.",
            ),
        ],
    ),
    Question(
        "where_a_bug_hides",
        "Translations of single sentences are right. In a batch with longer sentences they are wrong. Where do you look first?",
        "single",
        [
            right(
                "At the padding masks of the encoder and of cross-attention.",
                "Yes. A single sentence has no padding, so nothing shows there.",
            ),
            wrong("At the scale √K of the scores.", "Single sentences would be wrong as well."),
            wrong(
                "At the causal mask.",
                "A decoder that sees the future does so in a single sentence too.",
            ),
            wrong("At the embedding's factor √D.", "Single sentences would be wrong as well."),
        ],
    ),
    Question(
        "scores_of_cross_attention",
        "Three sentences; the longest source has 9 tokens, the longest target 7; 4 heads. What is the shape of the scores in cross-attention?",
        "shape",
        [
            wrong("(3, 4, 9, 7)", "Rows are queries, and the queries come from the target."),
            wrong("(3, 7, 9)", "The dimension of the heads is missing."),
            wrong("(3, 4, 7, 7)", "That is the decoder's self-attention."),
        ],
        answer="(3, 4, 7, 9)",
        why="(B, H, T, S).",
    ),
    Question(
        "mean_over_padding",
        "A clip of 10 frames is padded with zeros to 40. The classifier averages the encoder's output over all 40 positions. What is wrong?",
        "single",
        [
            right(
                "The padded positions aren't zero any more, and they make up three quarters of the mean.",
                "Yes. Biases, positions and attention have filled the padded positions. Add up the 10 real vectors and divide by 10.",
            ),
            wrong(
                "Nothing, because adding zeros doesn't change a sum.",
                "The input was zero there. After projection, positions and layers the vectors aren't.",
            ),
            wrong(
                "Nothing, because the padding mask in every attention layer has already taken care of the padded positions.",
                "The mask hides them as keys. They are still there as positions of the output.",
            ),
            wrong(
                "The mean should be a maximum, because padding can't change that.",
                "A maximum would need the mask too, because padded outputs can be the largest.",
            ),
        ],
    ),
    Question(
        "why_check_each_part",
        "You have a model that runs and whose translations are nonsense. Describe how you would find the mistake, and say why you'd work in that order.",
        "open",
        answer="Load weights that you know are good, and take a second model that you know is "
        "right. Give both the same input, and compare the two after each part: embedding, "
        "first attention, first layer, and so on. The mistake is in the first part where "
        "they differ, or in something that this part calls, because everything before it "
        "agrees. Then make the input as small as possible, with one sentence, one layer "
        "and one head, until you can work out the numbers by hand. Don't start with the "
        "final output, because it depends on every part. The loss tells you even less, "
        "because a model with a small mistake still learns.",
    ),
    Question(
        "what_the_decoder_would_lack",
        "For the tones, the encoder was enough. Choose three tasks. For each, say whether you would use an encoder, a decoder, or both, and what decides it.",
        "open",
        answer="Two things decide: whether there's something to write, and whether the model is "
        "allowed to see the whole input at once. For one label per clip, or one per word, "
        "use an encoder, because nothing is written and every position is allowed to "
        "attend to every other. To continue a text, use a decoder alone, because each "
        "word is only allowed to attend to earlier words, and there's no second sequence. "
        "For translation, or for speech to text, use both: the encoder reads the source "
        "in both directions, and the decoder writes the target from left to right. A "
        "decoder alone can do this too if you put source and target into one sequence, "
        "but then it usually reads the source with the causal mask.",
    ),
]

PREDICTIONS = [
    Prediction(
        "zeros_after_relu",
        "Twenty captions go through the translator's encoder. In each feed-forward network, linear layer 1 turns a token's vector into 512 numbers, and ReLU sets the negative numbers to 0. What share of all these numbers becomes 0, over all tokens and the three layers?",
        explain="So on average only about 20 of a token's 512 numbers are left for linear layer 2. Li et al. (2022) found the same in far larger Transformers.",
        too_high="ReLU zeroes nearly everything, but what's left is all that the feed-forward network can contribute.",
        too_low="Before training it's about a half, because a sum of random numbers is negative as often as positive. Training made most of the sums negative.",
        unit="%",
        low=0,
        high=100,
        slider=True,
    ),
    Prediction(
        "memory_last_first",
        "Just before the decoder reads the memory, we reverse its rows, so that the last token's vector comes first. The padding mask is reversed with it. What happens to the two translations?",
        options={
            "order": (
                "Their words come in a different order, because the source is now read backwards.",
                "Nothing reads the memory from left to right. Before the encoder, a position was added to each token's vector, and nothing else says where a word stood.",
            ),
            "same": (
                "They don't change, because the decoder attends to a row by its content.",
                "Yes. Each query scores every key separately, and the weighted values are added up. A sum doesn't depend on the order of its terms, so to cross-attention the memory is a set.",
            ),
            "nonsense": (
                "They become nonsense, because no memory looked like this in training.",
                "That would be so if the decoder could see a difference. But each query scores every key separately, and a sum of values doesn't depend on the order of its terms.",
            ),
        },
        recall="scores_of_cross_attention",
    ),
    Prediction(
        "writing_without_the_mask",
        "Without the causal mask, every position in the decoder is allowed to attend to everything that has been written so far. How many of the twenty translations stay the same, word for word?",
        explain="The newest position has nothing after it. But the earlier ones now attend to later tokens, which never happened in training, so their vectors change. From the second layer on, the newest position reads these changed vectors.",
        too_high="It looks as if the mask couldn't matter here, because what comes later isn't written yet.",
        too_low="The weights were trained with the mask, but without it most changes are too small to move the argmax.",
        unit="translations",
        low=0,
        high=20,
        slider=True,
    ),
    Prediction(
        "layers_last_first",
        "Which stack can you reverse so that the model still writes most of the twenty translations exactly as before?",
        options={
            "neither": (
                "neither: each layer only fits the output of the layer before it",
                "That's how the decoder behaves, because its later layers build on its first one. But the encoder's layers hardly depend on one another: they all add to the same residual stream.",
            ),
            "encoder": (
                "only the encoder: the decoder's order matters more",
                "Yes. The encoder's layers all add to the same residual stream and hardly depend on one another. In the decoder, the later layers build on the first: if only the last two swap, most translations don't change.",
            ),
            "decoder": (
                "only the decoder: the encoder's order matters more",
                "It's the other way round. The decoder's later layers build on its first one. The encoder's layers hardly depend on one another, because they all add to the same residual stream.",
            ),
            "both": (
                "either of them: each layer only adds something to the residual stream",
                "That's how the encoder behaves. But the decoder's later layers build on its first one: if only the last two swap, most translations don't change.",
            ),
        },
    ),
    Prediction(
        "mistakes_that_show",
        "You read the twenty translations of each of the four models. Which mistakes would you notice?",
        options={
            "norm": (
                "only post-norm, because the other three change the numbers very little",
                "Post-norm does show. But the factor √D is 16 here, so without it the words are far too weak beside their positions.",
            ),
            "norm_and_scale": (
                "post-norm and the missing √D, but not GELU or counting positions from one",
                "Yes. GELU is close to ReLU, and every position is shifted by the same amount, so the likeliest word stays the likeliest.",
            ),
            "three": (
                "all but GELU, because it's nearly the same function as ReLU",
                "GELU doesn't show. But if all positions are shifted by one, the distances between words stay the same, so that doesn't show either.",
            ),
            "all": (
                "all four, because trained weights only fit the exact model they were trained in",
                "Weights do belong to one design. But the output is an argmax over the vocabulary, and a small change in the logits leaves the likeliest word in its place.",
            ),
        },
        recall="same_tokens_other_logits",
    ),
    Prediction(
        "padding_taken_for_sound",
        "The padding frames are all zeros. We tell an untrained classifier that they count as sound, just as the other frames do. What happens to the logits of the clip?",
        options={
            "same": (
                "They stay the same, because frames of zeros add nothing.",
                "The frames are zero only at the input. The linear layer adds a bias and the positions are added too, so they aren't zero in the first layer.",
            ),
            "change": (
                "They change, because the padding takes part in attention and in the mean.",
                "Yes. After the linear layer and the positions, padding frames are vectors like any others, and they get weight.",
            ),
        },
        recall="mean_over_padding",
    ),
    Prediction(
        "tones_without_positions",
        "Without positions, which kinds does the trained classifier mix up most?",
        options={
            "direction": (
                "rising and falling",
                "Yes. They contain the same frames in a different order, and without positions the order is lost.",
            ),
            "warble": (
                "warbles and one of the other two moving tones",
                "It mixes up some of those as well. But a warble stays longer near its highest and its lowest pitch, so its set of frames does differ a little.",
            ),
            "steady": (
                "steady and one of the moving tones",
                "All frames of a steady tone are alike, and you can see that without knowing their order.",
            ),
            "all": (
                "all four, so that it does no better than chance",
                "It loses the order of the frames, but not the frames. A steady tone has different frames from a moving one.",
            ),
        },
        recall="mean_over_padding",
    ),
]
