"""Predictions of lesson 00, start here."""

from helpers.exercises.written import predictions

PREDICTIONS = predictions(r"""
[where_it_looks_for_red]
The model has written *A little girl in a* and is about to write *red*. Which French word has the most weight in the last layer? That layer computes four sets of weights side by side, and we take their average.
- manteau: *manteau* (coat) | *manteau* comes first in French, but its turn in English is one word later.
- rouge: *rouge* (red) | The model has learned to look at the word that it translates.
- fille: *fille* (girl) | She wears the coat, but for the next word the model needs the colour.
- en: *en* (in) | *en* was translated two words ago, by *in*, and the model has moved on.
explain: *rouge* has more than nine tenths of the weight, although *manteau* comes before it. The model can look at the French words in any order.

[a_word_is_missing]
We take *chien noir* (black dog) out of the sentence in the map: *Un court dans la neige avec un bâton.* What does the model write?
- dog: *A dog runs through the snow with a stick* | A weak guess, though: look at the probabilities below.
- man: *A man runs through the snow with a stick* | Captions about people do outnumber those about dogs, ten to one. But this sentence contains *neige* and *bâton*.
- literal: *A one runs through the snow with a stick* | That is how you'd translate word by word. But after *A*, an English caption goes on with a noun or an adjective, and the decoder has learned that.
explain: Ten of the training captions mention both snow (*neige*) and sticks (*bâton* or *bâtons*), and seven of the ten are about dogs.

[a_pizza_that_eats]
In none of the 29,000 captions does a pizza eat anything. What does the model write for *La pizza mange le chien* (the pizza eats the dog)?
- dog: *The dog is eating the pizza* | It filled in a dog a moment ago, because the sentence had left a gap. Here no word is missing.
- pizza: *The pizza is eating the dog* | The model follows the sentence, however strange it is.
- neither: *The man is eating the pizza* | All the words are familiar and so is their order: noun, verb, noun. Only the scene is new.
explain: The sentence leaves no gap to fill, and from the positions the model can tell which of the two nouns comes first.

[a_man_who_does_not_eat]
*L'homme ne mange pas de pizza* says that the man is *not* eating pizza, with *ne … pas* around the verb. What does the model write?
- not: *The man is not eating pizza* | The last sentence was translated faithfully, but this one isn't.
- other: *The man is eating food* | The word *pizza* is in the sentence, and the model keeps it. It's the *not* that disappears.
- pizza: *The man is eating pizza* | The captions win here, and the *not* disappears.
explain: A photo shows what's there, so fewer than one English caption in 500 contains *not*. The model assigns the word next to no probability.
""")
