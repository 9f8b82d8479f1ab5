"""Predictions of lesson 00, start here."""

from helpers.exercises.content import Prediction

QUESTIONS = []

PREDICTIONS = [
    Prediction(
        "share_of_attention",
        "The paper that introduced this model in 2017 is called *Attention Is All You Need*. Our translator consists of 5 million learned numbers. The vectors of its 4,000 tokens account for 1 million of them. What share of all 5 million is in the attention layers?",
        explain="The token vectors account for 21% of the numbers. The rest is shared by nine attention layers and six feed-forward networks, which are all about the same size, so the feed-forward networks have 32%. In most larger Transformers the feed-forward networks hold more of the numbers than attention does.",
        too_high="The title does promise more. But the vectors of the tokens have a fifth of the numbers, and each layer also has a feed-forward network.",
        too_low="An attention map looks small, but the map isn't what's learned: each of the nine attention layers has four learned matrices.",
        unit="%",
        low=0,
        high=100,
        slider=True,
    ),
    Prediction(
        "where_it_looks_for_a",
        "The model has written *A little girl in* and is about to write *a*. But there's no French article here: *en manteau rouge* only says *in coat red*. Which French word gets the most weight? (Averaged over the heads of the last layer.)",
        options={
            "Une": (
                "*Une* (a) at the very beginning, although it belongs to *fille* (girl)",
                "Yes, with 36%: two of the four heads attend to *Une* more than to any other word. Of the other two, one attends to *rouge* and one to *en*.",
            ),
            "manteau": (
                "*manteau* (coat), the noun that needs the *a*",
                "*A coat* would make sense, but *manteau* gets next to nothing until the model chooses *coat*. Here *Une* comes first with 36%, because two of the four heads attend mainly to that article.",
            ),
            "rouge": (
                "*rouge* (red), because *red* is the English word after the *a*",
                "That's a close second: one of the four heads already attends to *rouge*, which gets 30% on average. But two others attend mainly to the article *Une*, which gets 36%.",
            ),
            "en": (
                "*en* (in), because the English has *in a* where the French has only *en*",
                "One of the four heads does attend to *en*, which comes third with 21%. But two others attend mainly to the article *Une*, which gets 36%.",
            ),
        },
    ),
    Prediction(
        "a_word_is_missing",
        "We take *chien noir* (black dog) out of the sentence in the map: *Un court dans la neige avec un bâton.* What does the model write?",
        options={
            "literal": (
                "*A runs through the snow with a stick*, because it can only translate what's there",
                "That's translating word by word. But the decoder also depends on what it has written so far, and after *A* an English caption needs a noun or an adjective.",
            ),
            "dog": (
                "*A dog runs through the snow with a stick*, because dogs run after sticks",
                "Yes. Ten of the training captions contain both *neige* and *bâton*, and seven of them are about dogs. It's a weak guess, though: look at the probabilities.",
            ),
            "man": (
                "*A man runs through the snow with a stick*, because most captions are about people",
                "They are: captions about people outnumber those about dogs ten to one. But this sentence also contains *neige* and *bâton*, and in the captions these two mostly come with a dog.",
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
                "It filled in a dog a moment ago, because the sentence had left a gap. Here no word is missing, and the positions show which noun comes first.",
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
                "The sentence about the pizza was translated faithfully, but here the captions win. A photo shows what's there, so fewer than one English caption in 500 contains *not*, and the model gives it next to no probability.",
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
        "There's no such thing as a *blorf*, in any language. The model reads the word as three pieces, *bl*, *or* and *f*. What does the woman eat in the translation of *Une femme mange un blorf*?",
        options={
            "copied": (
                "a *blorf*: it copies words it doesn't know, piece by piece",
                "It does begin to copy. But it has hardly practised copying, and after *f* it loses its place: it starts again at *or* instead of ending the sentence.",
            ),
            "known": (
                "a food that it knows, because that's likelier",
                "Here there's no gap to fill. The model writes the three pieces that it reads, but after *f* it loses its place and starts again at *or*.",
            ),
            "invented": (
                "neither: it makes up a word from these pieces",
                "Yes. It writes all three pieces, but it has hardly practised copying, and after *f* it loses its place: it starts again at *or* instead of ending the sentence.",
            ),
        },
    ),
]
