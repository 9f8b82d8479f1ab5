"""What explorers share in which the learner types a sentence."""

import traitlets

from helpers.widgets.explorer import Explorer

MOST_PIECES = 24  # more of them, or of rows of a tensor, could not be told apart


class SentenceExplorer(Explorer):
    """An explorer of one sentence; what cannot be used is refused in words, the last one stays.

    A subclass keeps its model before it calls ``super().__init__`` and defines `problem`. A first
    sentence that cannot be used is a ValueError.
    """

    sentence = traitlets.Unicode().tag(state=True)

    def __init__(self, sentence, **state):
        super().__init__(sentence=sentence, **state)

    def problem(self, sentence: str) -> str:
        """Say why a sentence cannot be used; an empty str if it can."""
        raise NotImplementedError

    @traitlets.validate("sentence")
    def _check_sentence(self, proposal):
        proposal.value = self.tidy(proposal.value)
        return self.checked(proposal, self.problem(proposal.value))

    def tidy(self, sentence):
        """Write a sentence as it's kept: with one space between words."""
        return " ".join(sentence.split())

    def limit(self, trait: str, most: int):
        """Let a slider end where the sentence does."""
        if getattr(self, trait) > most:
            with self.together():
                setattr(self, trait, most)
        self.controls[trait].max = most


class TranslatedSentence(SentenceExplorer):
    """A sentence for the bundled `translator`, short enough to be drawn; or else a ValueError."""

    def __init__(self, translator, sentence, **state):
        self._translator = translator
        super().__init__(sentence, **state)

    def problem(self, sentence: str) -> str:
        try:
            n = self._translator.encode([sentence]).shape[1]
        except ValueError as error:
            return str(error)
        return f"At most {MOST_PIECES} tokens fit; got {n}." if n > MOST_PIECES else ""
