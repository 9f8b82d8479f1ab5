"""Questions of lesson 02, Bahdanau attention."""

from helpers.exercises.content import Prediction, Question, right, wrong

QUESTIONS = [
    Question(
        "what_the_score_needs",
        "Target word t is about to be generated. What does Bahdanau's score of source word i depend on?",
        "single",
        [
            right(
                "The decoder's previous state and encoder state i.",
                "Yes: e = v · tanh(W s + U h_i). Without s, every step would attend to the same words; without h_i, it would attend to all words equally.",
            ),
            wrong(
                "The decoder's previous state and nothing else.",
                "Then all source words would get the same score, and the context would be their plain average.",
            ),
            wrong(
                "Encoder state i and nothing else.",
                "Then every target word would attend to the same source words.",
            ),
            wrong(
                "The distance between the positions i and t in the two sentences.",
                "Positions don't enter the score. The model learns to stay near the diagonal.",
            ),
        ],
    ),
    Question(
        "where_luong_attends",
        "Bahdanau's attention comes before the recurrent step. At what point in the step does Luong's come?",
        "single",
        [
            right(
                "After the recurrent step: the new state is the query, and the context joins it just before the output.",
                "Yes: state, attention, output. In Bahdanau's model the old state is the query, and the context goes into the step.",
            ),
            wrong(
                "Before the recurrent step as well, but with a dot product instead of a small network as the score.",
                "The scores do differ, but so does the order: Luong takes the step first and uses the new state as the query.",
            ),
            wrong(
                "In the encoder, between the source words.",
                "Words of one sentence attending to each other is self-attention, from lesson 03. Both of these models attend from the decoder to the encoder.",
            ),
            wrong(
                "Before the first step: the context is computed once per sentence.",
                "One context per sentence is the fixed vector of lesson 01. Here each target word gets its own.",
            ),
        ],
    ),
    Question(
        "cost_of_attention",
        "A source of 30 words is translated into 20 words. How many scores does the decoder's attention compute?",
        "number",
        [
            wrong(
                "50",
                "That is the number of words. Every target word needs a score for every source word.",
            ),
            wrong("30", "That is one step of the decoder. There are 20."),
            wrong("900", "Source with source: that would be self-attention in the encoder."),
            wrong("400", "Target with target: that would be self-attention in the decoder."),
        ],
        answer=600,
        why="20 × 30: every target word needs a score for every source word.",
    ),
    Question(
        "bahdanau_shape",
        "At one step of the decoder the query is (B, D_q) and the keys are (B, S, D_k); both are projected to the width A. What is the shape of tanh(…), before the product with v?",
        "shape",
        [
            wrong(
                "(B, S)", "That is the shape after the product with v, which sums over the width A."
            ),
            wrong("(B, A)", "That is the query alone. It's added to each of the S keys."),
            wrong(
                "(B, S, D_k)",
                "That is the shape of the keys before w_key. After it they have width A.",
            ),
            wrong("(B, S, 1)", "That would be the shape after a product with v as a column."),
        ],
        answer="(B, S, A)",
        why="One hidden layer of width A per source word and sentence.",
    ),
    Question(
        "order_of_a_step",
        "Put one step of Bahdanau's decoder in order.",
        "order",
        answer=[
            "take the decoder's previous state",
            "score every encoder state against it",
            "softmax over the source words",
            "mix the encoder states into a context",
            "take the recurrent step with context and previous word",
            "predict the next word",
        ],
        why="The old state is the query, which gives the context, and only then comes the recurrent step.",
    ),
    Question(
        "still_sequential",
        "A recurrent translator with attention is still slow to train on long sentences. Why?",
        "single",
        [
            right(
                "Each decoder state still needs the one before it, so the steps wait for each other.",
                "Yes. Attention removed the bottleneck. The waiting ended only when the recurrence was dropped as well.",
            ),
            wrong(
                "It isn't slow, because attention made all steps parallel.",
                "Within one step, all the source words can be scored in parallel. The steps themselves can't.",
            ),
            wrong(
                "Its softmax runs over the whole source vocabulary.",
                "It runs over the words of one source sentence, which are few.",
            ),
            wrong(
                "The encoder states are computed afresh at every decoder step.",
                "They are computed once and kept. They are what the decoder looks back at.",
            ),
        ],
    ),
    Question(
        "what_attention_changed",
        "Attention is added to the translator of lesson 01. Which of these are true?",
        "multiple",
        [
            right(
                "Every target word gets its own context.", "True: the weights are new at each step."
            ),
            right(
                "All encoder states are kept, not only the last one.",
                "True: they are what the decoder attends to.",
            ),
            right(
                "It is trained by the translation loss alone.",
                "True: nothing in the training data says which word belongs to which.",
            ),
            wrong(
                "The decoder no longer needs a recurrent state.",
                "Not so: the recurrent state is the query.",
            ),
            wrong(
                "It has to be told which words belong together.",
                "Not so: the weights have a gradient, so alignment is learned along the way.",
            ),
        ],
    ),
    Question(
        "alignment_or_attention",
        "The map of weights looks like an alignment of words. When can you read it as one, and when not?",
        "open",
        answer="The weights say where the context of a step came from. Often that's the word "
        "being translated, and if you know the true alignment, you can count how often, "
        "as the lesson does. But nothing in the loss asks for an alignment. A state of a "
        "recurrent encoder also contains information about its neighbours, so attending "
        "to the next word can work just as well. When the model needs nothing from the "
        "source, the weight often goes to the full stop. And depending on when the "
        "decoder attends, before its step or after it, the map can be shifted by one "
        "word. So compare the map with a known alignment, or change a source word and see "
        "whether the output changes.",
    ),
    Question(
        "beyond_text",
        "A model writes a caption for a picture, with this attention. What are the keys, what are the values, and what does a row of weights show?",
        "open",
        answer="The keys and values are vectors of regions of the picture, for instance one per "
        "cell of the grid that a convolutional network returns (Xu et al. 2015, with 14 × "
        "14 cells). The query is the decoder's state, as before. A row of weights, drawn "
        "over the picture, shows where the model attended when it wrote that word. "
        "Nothing in attention depends on its vectors being words. Speech works in the "
        "same way, with short pieces of sound.",
    ),
]

PREDICTIONS = [
    Prediction(
        "long_sentences_with_attention",
        "With a fixed context vector, about one in seven sentences of more than 20 words came out without a mistake. How many when the decoder can look back?",
        slider=True,
        low=0,
        high=100,
        unit="%",
        close=0.06,
        too_low="The sentence no longer has to fit into a fixed number of entries, so its length "
        "hardly matters.",
        too_high="Nearly, but a few long sentences still contain a mistake.",
        explain="This is the average over the two longest groups, 21 to 30 and 31 to 40 words.",
        ask_why=True,
    ),
    Prediction(
        "winner_by_pencil",
        "Which source word gets the largest weight?",
        options={
            "first": (
                "the first, whose state is (1, 0)",
                "Yes: both entries that go into the tanh are positive, 2 and 0.5, and so are both entries of *v*.",
            ),
            "second": (
                "the second, whose state is (0, 1)",
                "Its first entry is just as large, 2. But its second entry is −0.5 instead of "
                "0.5, so its score is lower.",
            ),
            "third": (
                "the third, whose state is (−1, 0)",
                "Its first entry cancels to 0, and the tanh of 0 is 0.",
            ),
        },
    ),
    Prediction(
        "without_the_decoder_state",
        "You forget the decoder's part, *W s*. What happens to the weights?",
        options={
            "uniform": (
                "they all become equal, 1/3 each",
                "That's what happens when you forget the *encoder's* part: then nothing tells the source words apart.",
            ),
            "frozen": (
                "they differ from word to word, but are the same at every step",
                "Yes: the scores depend on the source words alone, so the decoder can't ask for another word at the next step.",
            ),
            "random": (
                "they can't be computed any more",
                "The sum inside the tanh has one term fewer, and everything else still works. That's why it's easy to miss.",
            ),
        },
    ),
    Prediction(
        "where_the_noun_looks",
        "The model has just written *red*, and next comes the noun. Its encoder reads the source in both directions, so the state at each French word depends on the whole sentence. Where is the largest weight in the noun's row, compared with the row of *red*?",
        options={
            "on": (
                "one place to the right: the decoder moves on through the source",
                "It does move on where both languages have the same order. Here the word that's needed next comes earlier in the French sentence.",
            ),
            "same": (
                "in the same place: the state there already depends on both words",
                "It does, but each state says most about its own word. So training made the decoder attend to the state at the noun.",
            ),
            "back": (
                "one place to the left: the decoder goes back for a word",
                "Yes: in French the noun comes before this adjective. The state at the noun says most about it, although other states depend on it too.",
            ),
        },
    ),
    Prediction(
        "alignment_error_of_the_model",
        "What is the alignment error rate of the model's maps? (0 is perfect, and the diagonal has 0.55.)",
        slider=True,
        low=0,
        high=1,
        step=0.01,
        close=0.06,
        too_low="A model that translates perfectly doesn't need perfect maps: it's trained to find the next word, and nobody ever tells it where to look.",
        too_high="It does much better than a diagonal.",
    ),
    Prediction(
        "what_attention_solved",
        "Lesson 01 found three problems: waiting (each step needs the one before), the bottleneck, and distance. Which of them does attention leave completely unsolved?",
        options={
            "waiting": (
                "waiting: four times as many words still take several times as long",
                "Yes: every step needs the state of the one before.",
            ),
            "bottleneck": (
                "the bottleneck: the context is still a single vector",
                "It's a single vector, but a new one at every step, mixed for the word that's needed now.",
            ),
            "none": (
                "none of them",
                "The bottleneck is gone. But what does the score of step *t* need before it can be computed?",
            ),
        },
    ),
]
