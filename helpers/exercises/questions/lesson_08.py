"""Questions of lesson 08, decoding."""

from helpers.exercises.content import Question, right, wrong

QUESTIONS = [
    Question(
        "logits_or_probabilities",
        "What does F.cross_entropy expect?",
        "single",
        [
            right("Logits.", "Yes. It takes the log-softmax itself."),
            wrong(
                "Probabilities.",
                "Then a softmax is taken of a softmax. There is no error, but the loss can't fall below about log V − 1, and at first the gradient is V times too small.",
            ),
            wrong(
                "Log-probabilities.",
                "F.nll_loss expects those. A log-softmax of log-probabilities changes nothing, so here it would do no harm.",
            ),
            wrong("The argmax.", "An argmax has no gradient."),
        ],
    ),
    Question(
        "mask_and_shift",
        "You train with the causal mask, but the targets are equal to the inputs instead of shifted. What will the model learn?",
        "single",
        [
            right(
                "To copy its input, because the answer is at the position itself.",
                "Yes. The mask hides what comes after position t, but not position t.",
            ),
            wrong(
                "The same as with the shift, because the mask is enough.",
                "The mask allows position t to attend to input t, which is the target.",
            ),
            wrong(
                "Nothing: the loss stays at log V.",
                "The loss falls to zero very soon, which is the problem.",
            ),
            wrong(
                "To predict two tokens ahead.",
                "Input and target are at the same position, so nothing lies between them.",
            ),
        ],
    ),
    Question(
        "what_temperature_does",
        "Logits are divided by a temperature of 0.5 before the softmax. What happens?",
        "multiple",
        [
            right(
                "The likeliest token becomes likelier.", "True: differences between logits double."
            ),
            wrong(
                "The order of the tokens changes.",
                "Not so: dividing by a positive number keeps the order.",
            ),
            right("The entropy of the distribution falls.", "True: it becomes more peaked."),
            wrong(
                "Greedy decoding gives another sentence.", "Not so: the argmax stays where it is."
            ),
        ],
    ),
    Question(
        "top_p_keeps",
        "Probabilities 0.5, 0.3, 0.15, 0.05. How many tokens does top-p with p = 0.75 keep?",
        "number",
        [
            wrong("1", "The first token has 0.5, which doesn't reach 0.75."),
            wrong(
                "3", "Two tokens already reach 0.8. The token that reaches p is the last one kept."
            ),
            wrong("4", "Then nothing would be filtered."),
        ],
        answer=2,
        why="0.5 + 0.3 reaches 0.75, and the token that reaches it is kept.",
    ),
    Question(
        "what_the_cache_keeps",
        "What does the cache of a decoder layer keep?",
        "multiple",
        [
            right("Keys of earlier positions.", "True: every later query is compared with them."),
            right("Values of earlier positions.", "True: they are mixed at every later step."),
            wrong(
                "Queries of earlier positions.", "Not so: each is used once, at its own position."
            ),
            right(
                "Keys and values of the encoder's output.",
                "True: they never change, so they are computed once.",
            ),
        ],
    ),
    Question(
        "beam_without_penalty",
        "A beam search ranks sentences by the plain sum of their log-probabilities. Which ones does it prefer?",
        "single",
        [
            right(
                "Short ones, because every further token lowers the sum.",
                "Yes. A length penalty makes up for it.",
            ),
            wrong(
                "Long ones.", "A long sentence has more terms, but every one of them is negative."
            ),
            wrong(
                "Those with rare words.",
                "Rare words have low probabilities, so they lower the sum most.",
            ),
            wrong(
                "None in particular.",
                "A log-probability is never positive, so each token costs something.",
            ),
        ],
    ),
    Question(
        "shape_of_the_logits",
        "A batch of 4 target sentences, padded to 20 tokens; a vocabulary of 4000. What is the shape of the logits in training?",
        "shape",
        [
            wrong(
                "(4, 4000)",
                "That is one step of decoding. In training all positions are computed at once.",
            ),
            wrong(
                "(4, 20)",
                "That is the shape of the tokens. Each position has a logit for every token of the vocabulary.",
            ),
        ],
        answer="(4, 20, 4000)",
        why="(B, T, V).",
    ),
    Question(
        "likelier_is_not_better",
        "A larger beam finds a sentence to which the model gives a higher probability, and its BLEU is lower. How can that be?",
        "open",
        answer="The model's probability is not the quality of a translation; it was trained to predict the next word of one human translation given the right beginning. Short and bland outputs can be likelier than any single good translation, because good ones share the probability among many wordings. A large beam finds such modes; a small one stumbles over good ones on its way.",
    ),
    Question(
        "when_to_sample",
        "For which of these would you sample: a translation of a contract, a chat partner, test sentences for a program, subtitles? With which dials?",
        "open",
        answer="Contract and subtitles: no sampling; greedy or a small beam, since one right answer is wanted and surprises are errors. Chat: sample, with top-p around 0.9 and a temperature a little below 1, for variety without nonsense. Test sentences: sample, perhaps with a higher temperature, since variety is the purpose.",
    ),
]
