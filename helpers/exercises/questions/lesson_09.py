"""Questions of lesson 09, loss and training."""

from helpers.exercises.content import Question, right, wrong

QUESTIONS = [
    Question(
        "what_cross_entropy_wants",
        "What do you pass to F.cross_entropy?",
        "single",
        [
            right(
                "The logits, which are what the last linear layer gives, without any softmax after it.",
                "Yes. It takes log_softmax itself, which is numerically safer than a softmax followed by a logarithm.",
            ),
            wrong(
                "Probabilities, so what comes out of the softmax.",
                "Then the softmax is taken twice. Nothing complains, but the loss can't come near 0 and learning is slow.",
            ),
            wrong(
                "Log-probabilities, because the loss is a negative logarithm.",
                "Those are for F.nll_loss. cross_entropy takes the logarithm itself.",
            ),
            wrong(
                "The likeliest token at each position, to be compared with the target.",
                "argmax has no gradient, and it loses how sure the model was.",
            ),
        ],
    ),
    Question(
        "landmark_log_v",
        "An untrained model with a vocabulary of 8,000 finds every token equally likely. What is its cross-entropy, in nats per token?",
        "number",
        [
            wrong("12.97", "That is log₂ 8000, in bits. Nats need the natural logarithm."),
            wrong("3.9", "That is the logarithm to base 10."),
            wrong("8000", "That is the perplexity. The loss is its logarithm."),
            wrong("0.000125", "That is the probability 1/8000. The loss is minus its logarithm."),
            wrong("0", "Only a model that is always sure and right has a loss of 0."),
        ],
        answer=8.987,
        tolerance=0.002,
        why="−log(1/8000) = log 8000 ≈ 8.99. If a loss curve starts much higher, the model starts out sure of wrong tokens.",
    ),
    Question(
        "padding_in_the_loss",
        "By mistake the loss is averaged over all positions, padding included, and half of them are padding. What follows?",
        "multiple",
        [
            right(
                "The loss looks better than it is.",
                "True: the model soon predicts padding with certainty, so it costs nothing.",
            ),
            right(
                "The same sentence has another loss in another batch.",
                "True: how much padding it gets depends on its neighbours.",
            ),
            right(
                "At first, what the model mainly learns is to predict padding.",
                "True: padding is the commonest target of all.",
            ),
            wrong(
                "Nothing, since the attention masks hide padding.",
                "Not so: masks hide padding from attention, but the loss still asks for a prediction at every position.",
            ),
            wrong(
                "The loss becomes NaN.",
                "Not so, which is the problem, because nothing seems to be wrong.",
            ),
        ],
    ),
    Question(
        "smoothed_target",
        "Label smoothing with ε = 0.1 over 4 classes, as in F.cross_entropy. What is the target of the right class?",
        "number",
        [
            wrong(
                "0.9",
                "That is 1 − ε. The right class gets its share of ε as well, which is ε/V more.",
            ),
            wrong("0.025", "That is the target of each wrong class: ε/V."),
            wrong("0.975", "That subtracts only ε/V. Subtract all of ε, then add ε/V."),
            wrong("1", "That is the target without smoothing."),
        ],
        answer=0.925,
        why="1 − 0.1 + 0.1/4. The other three have 0.025 each, so the sum is 1.",
    ),
    Question(
        "shape_of_the_rate",
        "How does the learning rate of the 2017 paper change during training?",
        "single",
        [
            right(
                "It rises linearly, then falls with the inverse square root of the step.",
                "Yes. After four times as many steps it is half as high.",
            ),
            wrong(
                "It rises linearly, then falls exponentially, by the same factor in every thousand steps.",
                "Many people believe so. An exponential would soon be at nothing, whereas step^−0.5 falls ever more slowly.",
            ),
            wrong(
                "It starts at its highest value, then falls with the inverse square root of the step.",
                "That leaves out the warm-up, without which Adam's first steps are too large.",
            ),
            wrong(
                "It rises and falls like half a cosine.",
                "Many later models do that, but the 2017 paper doesn't.",
            ),
        ],
    ),
    Question(
        "order_of_training_step",
        "Put one step of training in order.",
        "order",
        answer=[
            "shift the target into decoder input and labels",
            "compute the logits",
            "average the cross-entropy over real tokens",
            "compute the gradients",
            "clip the gradients if their norm is too large",
            "take the optimiser's step",
            "clear the gradients for the next step",
        ],
        why="Forward, loss, backward, clip, step, clear. Clipping after the optimiser's step would clip nothing.",
    ),
    Question(
        "perplexity_and_loss",
        "Match each loss, in nats per token, with what it says.",
        "match",
        answer={
            "0": "always sure and always right",
            "log 2": "as unsure as between two words",
            "log V": "as unsure as between all words",
            "more than log V": "sure of wrong words",
        },
        why="The perplexity is exp(loss), which gives 1, 2, V and more than V.",
    ),
    Question(
        "when_to_stop",
        "The training loss still falls, the validation loss has risen for three epochs, and BLEU on the validation set still creeps up. Do you stop? What do you keep?",
        "open",
        answer="It depends on what the model is for. A rising validation loss says that it has become too sure of itself: where it is wrong, it is wrong with certainty. BLEU looks only at the words chosen, and those may still get better. For translation, choose the weights by BLEU, on validation data, and stop when it too has not risen for a while. If the probabilities are used, for sampling or for saying how sure one is, choose by the loss. In either case keep the best weights and not the last, and leave the test set alone until the choice is made.",
    ),
    Question(
        "which_number_to_trust",
        "Model A has loss 1.40 and BLEU 38.2, model B has loss 1.55 and BLEU 38.9. Somebody says that B is better. What would you ask first?",
        "open",
        answer="Whether the losses can be compared at all: same vocabulary and tokenizer, both without label smoothing in the number that is shown, padding left out of both. With label smoothing the loss is higher and BLEU often better. Then how BLEU was computed: with sacrebleu, on the same references, the same decoding and beam. Then how large chance is: 0.7 BLEU on a thousand sentences is about what another seed can do, so train each with a few seeds, or resample the test sentences. And lastly, read some translations of both.",
    ),
]
