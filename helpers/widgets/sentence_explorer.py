"""What explorers share in which the learner types a sentence."""

import traitlets

from helpers.widgets.explorer import Explorer

MOST_PIECES = 24  # more of them, or of rows of a tensor, could not be told apart


class SentenceExplorer(Explorer):
    """An explorer of one sentence; what cannot be used is refused in words, the last one stays.

    A subclass keeps its model before it calls ``super().__init__`` and defines `problem`. The
    `message` says why the last sentence was not taken; a first one like that is a ValueError.
    """

    sentence = traitlets.Unicode().tag(state=True)
    message = traitlets.Unicode()

    def __init__(self, sentence, **state):
        problem = self.problem(sentence)
        if problem:
            raise ValueError(problem)
        self._good = " ".join(sentence.split())
        self._known = None, None  # what was asked last, and what was found
        super().__init__(sentence=sentence, **state)
        self.observe(self._tell_field, names="message")

    def problem(self, sentence: str) -> str:
        """Say why a sentence cannot be used; an empty str if it can."""
        raise NotImplementedError

    def _tell_field(self, change):
        self.controls["sentence"].error = self.message
        self._redraw()

    @traitlets.validate("sentence")
    def _check_sentence(self, proposal):
        self.message = self.problem(proposal.value)
        if not self.message:
            self._good = " ".join(proposal.value.split())
        return self._good

    def reset(self, *_):
        """Go back to the first sentence and the first step."""
        with self.together():
            self.message = ""
            super().reset()

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
