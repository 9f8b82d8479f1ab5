"""Questions of lesson 08, decoding."""

from helpers.exercises.content import Prediction, Question, right, wrong

QUESTIONS = [
    Question(
        "logits_or_probabilities",
        "What does F.cross_entropy expect?",
        "single",
        [
            right("Logits.", "Yes. It computes the log-softmax itself."),
            wrong(
                "Probabilities.",
                "Then the function applies a second softmax to the result of the first. There is "
                "no error, but the loss can't fall below about log V − 1, and at first the "
                "gradient is V times too small.",
            ),
            wrong(
                "Log-probabilities.",
                "F.nll_loss expects those. They would do no harm here, because a log-softmax doesn't change log-probabilities.",
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
                "To copy its input, because the target is the input at the same position.",
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
                "Greedy decoding gives a different sentence.",
                "Not so: the argmax stays where it is.",
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
                "Short ones, because every additional token lowers the sum.",
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
        "A larger beam finds a sentence with a higher probability under the model, but with a lower BLEU. How can that be?",
        "open",
        answer="The model's probability doesn't measure the quality of a translation. The model "
        "was trained to predict the next word of one human translation, given the right "
        "beginning. A short, bland output can be likelier than any single good "
        "translation, because there are many good wordings that share the probability. A "
        "large beam finds the bland output, while a smaller beam might not.",
    ),
    Question(
        "when_to_sample",
        "For which of these would you sample: a translation of a contract, a chatbot, test "
        "sentences for a program, subtitles? With which settings?",
        "open",
        answer="For the contract and the subtitles, don't sample. Use greedy decoding or a small "
        "beam, because you need the right answer and surprises are errors. For the "
        "chatbot, sample with a top-p around 0.9 and a temperature a little below 1, "
        "which gives variety without nonsense. For the test sentences, sample too, "
        "perhaps at a higher temperature, because you want variety.",
    ),
    Question(
        "likeliest_sentence",
        "In the tree with A and B, what is the probability of the likeliest sentence?",
        "number",
        [
            wrong(
                "0.216",
                "That is A A, the sentence that greedy decoding writes. There is a likelier one.",
            ),
            wrong("0.18", "That is A alone: 0.6 × 0.3. There is a likelier one."),
            wrong(
                "0.6",
                "That is only the first token. A sentence is complete with <eos>, and its probability is a product.",
            ),
            wrong("0.9", "That is the last step alone. Multiply by the probability of B, 0.4."),
            wrong("0.204", "That is A B: 0.6 × 0.34 × 1. There is a likelier one."),
        ],
        answer=0.36,
        why="B and then the end: 0.4 × 0.9.",
        tolerance=0.01,
    ),
    Question(
        "what_smoothing_asks_for",
        "Label smoothing with ε = 0.1 over 1,000 tokens. How much probability does the target give to one particular wrong token?",
        "number",
        [
            wrong("0.1", "That's the total for all 1,000 tokens. Each gets a thousandth of it."),
            wrong("0", "That's the target without smoothing."),
            wrong("0.9", "That's nearly what the right token gets."),
            wrong(
                "0.001", "That would spread a total of 1 over the tokens. Only ε = 0.1 is spread."
            ),
        ],
        answer=0.0001,
        why="0.1 / 1,000: ε is spread evenly over the vocabulary.",
        tolerance=0.01,
    ),
]

PREDICTIONS = [
    Prediction(
        "perfect_as_probabilities",
        "A model predicts perfectly: probability 1 for the right token and 0 for the other 3,999. We pass these *probabilities* to `F.cross_entropy`. What comes back?",
        options={
            "zero": (
                "0, because −log 1 = 0",
                "It would be 0 if the function used the probabilities as they are. It applies a "
                "softmax first, to 1 and 3,999 zeros, and each of those zeros still counts as e⁰ "
                "= 1.",
            ),
            "small": (
                "a little more than 0, because the function's softmax blurs the 1 somewhat",
                "It's true that there's a softmax inside. But among 3,999 zeros, each of which "
                "counts as e⁰ = 1, a single e¹ hardly makes a difference.",
            ),
            "large": (
                "more than 7, nearly as bad as guessing at random",
                "Yes: in the softmax inside, the right token's e¹ competes with 3,999 other terms, each of them e⁰ = 1, so it gets less than a thousandth.",
            ),
            "error": (
                "an error, because the function needs logits",
                "It does need logits, but any numbers can be logits, so it can't detect the "
                "mistake.",
            ),
        },
        recall="logits_or_probabilities",
    ),
    Prediction(
        "one_pass_or_many",
        "The same trained model reads the same English sentence twice: first all twelve prefixes in a single pass, then each prefix in a pass of its own. How do the two sets of logits compare?",
        options={
            "same": (
                "they're the same everywhere, except for rounding",
                "Yes. The mask is in every layer, so at no depth does a position depend on what comes after it.",
            ),
            "early": (
                "they differ at early positions, because from layer 2 on they read vectors made from later words",
                "An early position doesn't read vectors that were made from later words. Layer 1 is masked too, so at position 3 its output depends on tokens 1 to 3 only, and so does every layer above it.",
            ),
            "late": (
                "they differ at late positions, because their prefixes are recomputed in every pass",
                "Computing a prefix again gives the same vectors, because nothing that they depend on has changed. It only costs time.",
            ),
        },
        ask_why=True,
    ),
    Prediction(
        "loss_on_dice",
        "Each token is the throw of a die with 20 sides, so without cheating no model can "
        "get below log 20 = 3.0. Which of the two incomplete models, one without the mask "
        "and one without the shift, ends far below that?",
        options={
            "neither": (
                "neither of the two: mask or shift alone is enough",
                "The mask and the shift each block one way to cheat. If only one of them is "
                "there, training finds the way that's still open.",
            ),
            "no_mask": (
                "only the one without the mask: it can look ahead",
                "It can. But look at the other one as well: without the shift, input t is target t, and the mask allows a position to attend to itself.",
            ),
            "no_shift": (
                "only the one without the shift: it can copy",
                "It can. But the one without a mask reads target t as well: it's the next input.",
            ),
            "both": (
                "both of them",
                "Yes. Without the shift, the answer is at the position itself. Without the mask, "
                "it's one position further on.",
            ),
        },
        recall="mask_and_shift",
        ask_why=True,
    ),
    Prediction(
        "does_the_beam_find_it",
        "For the caption with the station, a beam of 4 ranks whole sentences by their log-probability. What will it write?",
        options={
            "station": (
                "a sentence with *station*, because the beam keeps the second-best token",
                "The beam did keep it. But the model gives the sentence with *station* a lower "
                "probability.",
            ),
            "same": (
                "exactly what greedy writes",
                "Yes: here greedy had already found the likeliest sentence, so searching harder "
                "doesn't help.",
            ),
            "other": (
                "a different sentence, but without *station*",
                "It has several of those in its list, but none of them ends up first.",
            ),
        },
        ask_why=True,
        recall="likelier_is_not_better",
    ),
    Prediction(
        "captions_that_change",
        "We translate our twenty captions greedily, then with a beam of 4 and the length penalty. For how many of them will the two texts differ?",
        slider=True,
        low=0,
        high=20,
        unit="captions",
        close=0.05,
        too_low="A few captions do have two wordings of nearly the same probability.",
        too_high="At most steps this model gives one token so much probability that no other can "
        "overtake it.",
    ),
    Prediction(
        "outside_the_top_twenty",
        "At half of the positions the best token gets 90% or more. The vocabulary has 4,000 tokens. On average, how much probability do the tokens *outside the best twenty* get in total?",
        slider=True,
        low=0,
        high=20,
        unit="%",
        step=0.5,
        close=0.05,
        too_low="Each of them gets almost nothing, but there are 3,980 of them.",
        too_high="There are 3,980 of them, but the best twenty get most of it.",
    ),
    Prediction(
        "captions_with_a_rare_token",
        "We let the model write 200 captions by drawing from all 4,000 tokens. What share of these captions will contain at least one token from outside the best twenty?",
        unit="%",
        low=0,
        high=100,
        close=0.2,
        too_low="A caption has about twelve tokens, so there are a dozen chances to draw a rare "
        "token.",
        too_high="At each single step a rare token is still unlikely.",
        recall="what_temperature_does",
    ),
    Prediction(
        "kept_at_the_full_stop",
        "At *red*, top-p with p = 0.95 keeps 14 tokens. The model is just as sure of the full stop. How many tokens does top-p keep there?",
        options={
            "few": (
                "two or three: the full stop and whatever else is plausible",
                "That's what we'd like. But no token apart from the full stop has more than a fraction of a percent, so it takes a great many of them to collect the missing 3%.",
            ),
            "some": (
                "about as many, because the model is just as sure there",
                "At *red*, a single rival has 2%. At the full stop, no rival has more than a fraction of a percent, so it takes many more tokens to make up the same 3%.",
            ),
            "many": (
                "several hundred",
                "Yes. There is no good alternative to the full stop, so the missing 3% has to come "
                "from the flat tail, where each token adds only a tiny amount.",
            ),
        },
        recall="top_p_keeps",
    ),
    Prediction(
        "what_the_cache_saves",
        "Without the cache, writing 128 tokens sends 64 times as many positions through the decoder. How many times as fast is it with the cache?",
        options={
            "hardly": (
                "less than twice, because attention has to read all keys in either case",
                "Reading the old keys is only a small part of the work. Most of it is the "
                "projections and the feed-forward layers, and the cache saves those for all old "
                "positions.",
            ),
            "several": (
                "between 2 and 30 times",
                "Yes. A pass over 128 positions takes longer than a pass over one, but not 128 times as long, because the processor handles many positions at once.",
            ),
            "all": (
                "about 64 times",
                "That would be so if every position took the same time. In one large matrix product, many positions cost much less together than separately.",
            ),
        },
        explain="The exact number depends on the machine, and the number below is from yours.",
        recall="what_the_cache_keeps",
    ),
]
