"""Predictions of lesson 00, start here."""

from helpers.exercises.content import Prediction

QUESTIONS = []

PREDICTIONS = [
    Prediction(
        "share_of_attention",
        "The paper that introduced this model in 2017 is called *Attention Is All You Need*. Our translator consists of 5 million learned numbers. What share of them is in its attention layers?",
        explain="The feed-forward networks have 32% of the numbers, and the vectors of the 4,000 tokens have 21%. In most larger Transformers the feed-forward networks have more than the attention.",
        too_high="The title promises more than that. But each layer has a feed-forward network beside its attention, and each token has a learned vector.",
        too_low="An attention map looks small, but its weights aren't learned: they are computed with learned matrices, four in each of the nine attention layers.",
        unit="%",
        low=0,
        high=100,
        slider=True,
    ),
    Prediction(
        "where_it_looks_for_red",
        "The model has written *A little girl in a* and is choosing the next word. Which French words get most of the weight? (Averaged over the heads of the last layer.)",
        options={
            "manteau": (
                "mostly *manteau* (coat), which comes next in the French sentence",
                "It does come next from left to right, but attention doesn't have to follow that order.",
            ),
            "rouge": (
                "mostly *rouge* (red), although *manteau* comes first",
                "Yes: the model skips *manteau* here and comes back to it for the next word, *coat*.",
            ),
            "both": (
                "*manteau* and *rouge* about equally, because they belong together",
                "They do belong together, but the model writes one word at a time. It attends to *rouge* when it chooses *red*, and to *manteau* one step later.",
            ),
        },
    ),
    Prediction(
        "a_word_is_missing",
        "We take *chien noir* (black dog) out of the first sentence of this page: *Un court dans la neige avec un bâton.* What does the model write?",
        options={
            "literal": (
                "*A runs through the snow with a stick*, because it can only translate what's there",
                "That would be word by word. But the decoder also depends on what it has written so far, and after *A* an English caption needs a noun or an adjective.",
            ),
            "dog": (
                "*A dog runs through the snow with a stick*, because dogs run after sticks",
                "Yes. Ten of the training captions contain both *neige* and *bâton*, and seven of them are about dogs. It's a weak guess, though: look at the probabilities.",
            ),
            "man": (
                "*A man runs through the snow with a stick*, because most captions are about people",
                "They are: ten times as many captions mention people as dogs. But this sentence also contains *neige* and *bâton*, and in the captions these two mostly come with a dog.",
            ),
        },
    ),
    Prediction(
        "a_pizza_that_eats",
        "In none of the 29,000 captions does a pizza eat anything. What does the model write for *La pizza mange le chien* (the pizza eats the dog)?",
        options={
            "pizza": (
                "*The pizza is eating the dog*, although nobody has ever seen that",
                "Yes. The sentence leaves no gap to fill, and the positions tell the model which of the two nouns comes first.",
            ),
            "dog": (
                "*The dog is eating the pizza*, as in a photo that could exist",
                "It filled in a dog a moment ago, because the sentence had left a gap. Here every word is there, and the positions tell which noun comes first.",
            ),
            "neither": (
                "something else, because it can't make sense of such a sentence",
                "All the words are familiar, and so is the order: noun, verb, noun. Only the scene is new, and the model can combine known words into new scenes.",
            ),
        },
    ),
    Prediction(
        "a_man_who_does_not_eat",
        "*L'homme ne mange pas de pizza* says that the man is *not* eating pizza: *ne … pas* goes around the verb. What does the model write?",
        options={
            "not": (
                "that the man isn't eating pizza",
                "The pizza that eats was translated faithfully, but here the captions win. A photo shows what's there, so fewer than one English caption in 500 contains *not*, and the model gives it next to no probability.",
            ),
            "pizza": (
                "that the man is eating pizza",
                "Yes. A photo shows what's there, so fewer than one English caption in 500 contains *not*, and the model gives it next to no probability.",
            ),
            "other": (
                "that the man is eating something else",
                "The word *pizza* is in the sentence, and the model keeps it. It's the *not* that disappears. A photo shows what's there, so fewer than one English caption in 500 contains *not*.",
            ),
        },
    ),
    Prediction(
        "a_word_that_does_not_exist",
        "There's no such thing as a *blorf*, in any language. What does the woman eat in the translation of *Une femme mange un blorf*?",
        options={
            "copied": (
                "a *blorf*: what it doesn't know, it copies",
                "A person would copy it letter by letter. The model has no letters: it reads three pieces, *bl*, *or* and *f*, and it has to build the word again from pieces.",
            ),
            "known": (
                "a food that it knows, because that's likelier",
                "Here there's no gap to fill. The model reads *blorf* as three pieces, *bl*, *or* and *f*, and it translates those.",
            ),
            "invented": (
                "something that is neither a *blorf* nor a food",
                "Yes, it makes up a word. It reads *blorf* as three pieces, *bl*, *or* and *f*, and tries to build the word again from pieces.",
            ),
        },
    ),
]
