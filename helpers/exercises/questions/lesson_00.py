"""Predictions of lesson 00, start here."""

from helpers.exercises.content import Prediction

QUESTIONS = []

PREDICTIONS = [
    Prediction(
        "where_it_looks_for_red",
        "The model has written *A little girl in a* and is about to write *red*. Which French word gets the most weight? (Averaged over the heads of the last layer.)",
        options={
            "manteau": (
                "*manteau* (coat), the next French word to be translated",
                "That would be the next word from left to right. Attention doesn't have to go from left to right.",
            ),
            "rouge": (
                "*rouge* (red), although *manteau* comes first",
                "Yes: the model skips *manteau* here and comes back to it for the next word, *coat*.",
            ),
            "joue": (
                "*joue* (plays), the only verb of the sentence",
                "The model hasn't reached the verb yet. It needs the word that tells it what to write next.",
            ),
        },
    ),
]
