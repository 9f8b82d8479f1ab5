"""The course-wide review: thirty questions, three for each lesson from 01 to 10."""

from helpers.exercises.content import Question, right, wrong


def _ask(name, prompt, answer, *others):
    """Make a question with one right option; every option is (text, why)."""
    options = [wrong(*other) for other in others]
    # The order that is shown is drawn in `questions`.
    return Question(f"review_{name}", prompt, "single", [right(*answer), *options])


def _count(name, prompt, answer, why, *others):
    options = [wrong(*other) for other in others]
    # Only the wrong answers may be rounded; the right ones are whole.
    settings = {"answer": answer, "why": why, "tolerance": 0.002}
    return Question(f"review_{name}", prompt, "number", options, **settings)


QUESTIONS = [
    _ask(
        "bottleneck",
        "A GRU translator without attention does well on 8 words and badly on 30. What breaks first?",
        (
            "One vector of fixed size has to carry the whole sentence.",
            "Yes. Lesson 01 measured it against length.",
        ),
        (
            "The vocabulary is too small for long sentences.",
            "Long sentences use the same words. Only their number grows.",
        ),
        (
            "Teacher forcing works for short sentences only.",
            "It works at any length; it concerns the decoder's input in training.",
        ),
    ),
    _count(
        "path_convolution",
        "Plain convolutions with a kernel of 3, looking back only. How many layers until a position depends on the one 10 steps before it?",
        5,
        "Each layer reaches 2 steps back: 10 / 2 = 5.",
        ("10", "A kernel of 3 goes two steps back in each layer, not one."),
        (
            "4",
            "10 / 3, rounded up: but a kernel of 3 reaches 2 steps, since one of its taps is the position itself.",
        ),
    ),
    _ask(
        "teacher_forcing",
        "What is the decoder given in training, with teacher forcing, at step 4?",
        ("The true third word.", "Yes, whatever the model itself would have written there."),
        ("Its own third word.", "That is what happens when it writes by itself."),
        ("The true fourth word.", "That is the answer it has to give."),
    ),
    _ask(
        "bahdanau_inputs",
        "On what does Bahdanau's energy of source word i at step t depend?",
        (
            "On the decoder's state before step t and on encoder state i.",
            "Yes, on both: e = v · tanh(W s + U h).",
        ),
        ("On the decoder's state alone.", "Then every source word would get the same energy."),
        ("On encoder state i alone.", "Then the weights would be the same at every step."),
    ),
    _count(
        "cost_of_cross",
        "A source of 20 tokens, a target of 15. How many weights does one cross-attention map hold?",
        300,
        "One for each pair: 20 · 15.",
        ("35", "That is their sum. Every target token has a weight for every source token."),
        ("400", "That would be a map of the source on itself."),
    ),
    _ask(
        "alignment",
        "A map links red to the word beside rouge, yet the translation is right. How can that be?",
        (
            "An encoder state also carries its neighbours.",
            "Yes: lesson 02 found alignment errors in models that translate almost perfectly.",
        ),
        (
            "The softmax was taken over the wrong axis.",
            "Then nothing would have been learned; the translation is right.",
        ),
        (
            "It cannot be; the map decides the word.",
            "The map decides what is mixed, not what the decoder makes of it.",
        ),
    ),
    _ask(
        "diagonal",
        "Self-attention without parameters. Why is the diagonal so strong?",
        (
            "A vector's dot product with itself is its squared length, which few others reach.",
            "Yes. Lesson 03 measured the share.",
        ),
        ("A mask hides the other words.", "There is no mask here."),
        ("The values are all the same.", "The values do not enter the weights at all."),
    ),
    _ask(
        "what_is_mixed",
        "What do the attention weights multiply?",
        ("The values.", "Yes. Keys are for finding, values are what is handed over."),
        ("The keys.", "Keys meet the query in the score and are then done."),
        ("The queries.", "The query asks; it is compared, not mixed."),
    ),
    _ask(
        "temperature",
        "The temperature of a soft look-up goes to zero. What does it become?",
        ("A hard look-up of the best key.", "Yes: the largest score takes all the weight."),
        ("The average of all values.", "That is the other end, a very high temperature."),
        ("Zero everywhere.", "The weights always sum to one."),
    ),
    _count(
        "root",
        "A model of width 512 with 8 heads. By which number are the scores divided?",
        8,
        "By √d_k, and d_k = 512 / 8 = 64.",
        ("64", "That is d_k. Its square root divides."),
        ("22.6", "That is √512. What meets in the score is as wide as one head."),
    ),
    _ask(
        "mask_place",
        "Where does a mask act?",
        (
            "On the scores, before the softmax.",
            "Yes: −∞ there becomes a weight of zero, and rows still sum to one.",
        ),
        ("On the weights, after the softmax.", "Then rows no longer sum to one."),
        ("On the values.", "Zeroing a value still leaves its weight in the sum."),
    ),
    _ask(
        "cheaper",
        "Leave out the products with the input matrices. For which sentences does one layer of self-attention need fewer multiplications than a recurrent one?",
        (
            "For those shorter than half the width, n < d/2.",
            "Yes: about 2n²d against nd² (lesson 04); the paper leaves the 2 out.",
        ),
        ("For all.", "At n > d/2 it needs more. It does not wait, though."),
        ("For those longer than the width, n > d.", "The other way round: n² grows faster."),
    ),
    _ask(
        "no_positions",
        "No positions, no mask. You swap two words of a sentence. What happens to the outputs?",
        ("They swap as well, and are otherwise the same.", "Yes, it is permutation equivariant."),
        ("All of them change.", "Nothing in the layer knows where a word stands."),
        ("None of them changes.", "They change places: each output belongs to its word."),
    ),
    _ask(
        "shift_rotation",
        "What happens to a pair of sinusoids when you move on by k positions?",
        (
            "It is turned by an angle that depends on k alone.",
            "Yes, the same rotation at every position.",
        ),
        (
            "It is turned by an angle that depends on the position.",
            "The angle is k times the frequency, wherever you start.",
        ),
        ("It gets longer.", "Sine and cosine of one angle always have length one."),
    ),
    _ask(
        "bert_positions",
        "How does BERT know positions?",
        ("From a learned table.", "Yes, one row for each of 512 positions."),
        ("From sinusoids.", "Those are the 2017 model's."),
        ("From the order in the batch.", "Sentences of a batch know nothing of each other."),
    ),
    _count(
        "heads_parameters",
        "A model of width 512. W_Q for 16 heads of 32 has how many times as many weights as W_Q for 8 heads of 64?",
        1,
        "512 · 512 both times: more heads are narrower heads.",
        ("2", "Twice as many heads, but each is half as wide."),
        ("0.5", "Each is half as wide, but there are twice as many."),
    ),
    _ask(
        "whole_vector",
        "What does one head see of a word's vector?",
        (
            "All of it; its projection is a part of the large one.",
            "Yes: the projections are split, not the vector.",
        ),
        (
            "The slice that belongs to the head.",
            "Every number of the query depends on every input number.",
        ),
        (
            "Only what the head before left over.",
            "Heads work side by side and know nothing of each other.",
        ),
    ),
    _ask(
        "explanation",
        "A head's map points straight from it to animal. What follows?",
        (
            "A hypothesis; switch the head off and measure.",
            "Yes. Lesson 06 shows a striking map that did not matter.",
        ),
        (
            "The model uses this head to resolve the pronoun.",
            "It may; the map alone does not show it.",
        ),
        ("The head is useless.", "That would have to be measured, too."),
    ),
    _ask(
        "post_norm",
        "What is the paper's block?",
        ("LayerNorm(x + Sublayer(x))", "Yes, post-norm."),
        ("x + Sublayer(LayerNorm(x))", "That is pre-norm, which most later models use."),
        (
            "LayerNorm(x) + Sublayer(x)",
            "Here the skip path itself is normalised; neither of the two does that.",
        ),
    ),
    _ask(
        "memory",
        "Where do the keys and values of the second decoder layer's cross-attention come from?",
        (
            "From the final encoder output, by that layer's own matrices.",
            "Yes, every decoder layer projects it anew.",
        ),
        ("From the second encoder layer.", "All decoder layers read the final output."),
        ("From the first decoder layer.", "From there comes what asks, the queries."),
    ),
    _ask(
        "norm_axis",
        "Over what does layer normalisation take its mean?",
        ("Over the numbers of one position.", "Yes, each token by itself."),
        ("Over the batch.", "That is batch normalisation."),
        (
            "Over the positions of a sentence.",
            "Then words would be mixed, and padding would count.",
        ),
    ),
    _ask(
        "shift_and_mask",
        "Training with a causal mask but without the shift: what does the model learn?",
        ("To copy its input.", "Yes: position t sees token t, which is its target."),
        (
            "The same, only slower.",
            "The answer is in the question; nothing else needs to be learned.",
        ),
        (
            "Nothing, the loss stays at log V.",
            "The loss falls quickly, towards zero, and that is the trouble.",
        ),
    ),
    _ask(
        "cache",
        "What does the key–value cache keep?",
        (
            "Keys and values of the tokens already written and of the source, in every layer.",
            "Yes; the query is needed only once.",
        ),
        ("The logits of all steps.", "They are used once, to choose a token."),
        ("The attention weights.", "Each new token makes a new row of weights."),
    ),
    _ask(
        "length_penalty",
        "Why does beam search divide by a power of the length?",
        (
            "Each further token adds a negative log-probability, so short sentences would win.",
            "Yes, sums of logarithms only ever fall.",
        ),
        ("To make the search faster.", "It changes which sentence is best, not the work."),
        ("To make probabilities sum to one.", "Scores of sentences need not sum to anything."),
    ),
    _ask(
        "log_v",
        "An untrained model with a vocabulary of 10,000 that prefers nothing. Its loss?",
        ("About 9.2 nats.", "Yes, log 10,000."),
        ("About 1 nat.", "A loss of 1 nat means a probability of 0.37 for the right word."),
        ("Infinite.", "Only if the right word had probability zero."),
    ),
    _ask(
        "padding_loss",
        "The loss is averaged over padding as well. What do you see?",
        ("A loss that looks better than it is.", "Yes, padding is easy to predict."),
        (
            "A loss that looks worse than it is.",
            "Only before the model has learned to write padding, which takes a few steps.",
        ),
        ("No difference.", "There is one as soon as sentences differ in length."),
    ),
    _ask(
        "schedule",
        "After the warm-up, what does the paper's learning rate do?",
        (
            "It falls with the inverse square root of the step.",
            "Yes: four times the steps, half the rate.",
        ),
        (
            "It falls exponentially.",
            "An exponential loses the same factor in every equal stretch; this one does not.",
        ),
        ("It stays where it is.", "It falls slowly."),
    ),
    _ask(
        "first_bug",
        "Your own decoder gives the right token at position 1 and nonsense later, only when it writes by itself. Where do you look first?",
        (
            "At positions and cache: what differs when one token comes at a time.",
            "Yes. In one pass, all positions are counted from 0 for you.",
        ),
        ("At the encoder.", "Its output is the same at every step, and position 1 was right."),
        ("At the softmax.", "It does the same at every step."),
    ),
    _ask(
        "weights_fit",
        "You load trained weights into your model without an error, and it writes nonsense. What is proved?",
        (
            "That names and shapes agree, and nothing about the computation.",
            "Yes. Compare stage by stage with a model that works.",
        ),
        (
            "That the model is right and the weights are bad.",
            "Shapes agree for many wrong models: GELU for ReLU, or positions counted from one, changes no shape.",
        ),
        ("That the tokenizer is broken.", "It may be, but nothing here says so."),
    ),
    _ask(
        "classifier",
        "You turn an encoder into a classifier by averaging its outputs. What must the average leave out?",
        ("Padding.", "Yes, or a short sequence's answer depends on its neighbours in the batch."),
        ("The first position.", "It is as good as any other."),
        ("The longest sequences.", "They are what they are."),
    ),
]
