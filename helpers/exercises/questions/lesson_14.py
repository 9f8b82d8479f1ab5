"""Questions of lesson 14, GPT."""

from helpers.exercises.content import Prediction, Question, right, wrong

QUESTIONS = [
    Question(
        "weight_of_the_last_letter",
        "At position 40, counted from 0, all letters so far are averaged. Which share does the last one have?",
        "number",
        [
            wrong(
                "0.0156",
                "That is 1/64, one part of a whole window. At position 40 there are only 41 letters so far.",
            ),
            wrong("0.5", "That would be an average of two letters."),
            wrong("1", "Then the average would be the last letter alone."),
        ],
        answer=0.0244,
        tolerance=0.03,
        why="It is one of 41 letters, and they all count the same: 1/41. That's the trouble with the average.",
    ),
    Question(
        "why_many_heads_here",
        "Four heads of width 16 have as many parameters as one head of width 64. What can the four do that the one can't?",
        "single",
        [
            wrong(
                "Use softer weights, since narrow heads have smaller scores.",
                "The scores are divided by √K, so their spread doesn't depend on the width.",
            ),
            wrong(
                "Read four different parts of the embedding.",
                "Each head projects the whole vector. Only the projections are split.",
            ),
            wrong(
                "Look further back in the text.",
                "All heads have the same mask.",
            ),
            right(
                "Give four letters a large weight each, one per softmax.",
                "Yes. One softmax has to share its weight, four don't.",
            ),
        ],
    ),
    Question(
        "order_in_a_gpt_layer",
        "Put the steps of a GPT layer in order.",
        "order",
        answer=[
            "layer norm",
            "causal self-attention",
            "add to the residual path",
            "layer norm of the sum",
            "feed-forward network",
            "add to the residual path again",
        ],
        why="GPT-2 is pre-norm: each sublayer reads a normalised copy, and its result is added to the path that runs past it.",
    ),
    Question(
        "gpt3_by_pencil",
        "96 layers of width 12,288, counting matrices only: how many billions of parameters?",
        "number",
        [
            wrong(
                "58",
                "That is the four attention matrices alone. The feed-forward network has twice as many numbers, 8d² per layer.",
            ),
            wrong(
                "116",
                "That is the feed-forward networks alone. The attention has another 4d² per layer.",
            ),
            wrong("1.8", "That is one layer. There are 96."),
            wrong("0.014", "That is 96 · 12 · 12,288. The width has to be squared."),
        ],
        answer=173.9,
        tolerance=0.02,
        why="4d² for the attention and 8d² for the feed-forward network make 12d² per layer: 96 · 12 · 12,288² = 174 billion.",
    ),
    Question(
        "what_gpt_leaves_out",
        "What does the decoder of lesson 07 have that a GPT doesn't?",
        "single",
        [
            right(
                "Cross-attention.",
                "Yes. Its queries would need an encoder's output for their keys and values, and there is none.",
            ),
            wrong(
                "A causal mask.",
                "It needs one more than ever: the mask is what makes training on a whole text fair.",
            ),
            wrong(
                "A feed-forward network in each layer.",
                "It's there, and it holds two thirds of GPT-3's parameters.",
            ),
            wrong(
                "A residual path around each sublayer.",
                "It's there, around both sublayers that are left.",
            ),
        ],
    ),
    Question(
        "when_the_window_is_full",
        "The story has 600 pieces, and the model was built for 512. What can it use to choose piece 601?",
        "single",
        [
            wrong(
                "All 600, since the cache holds their keys and values.",
                "The cache saves time. It doesn't give the model positions that it has never been trained on.",
            ),
            right(
                "What lies in its window, at most the last 512.",
                "Yes. Whatever has left the window is forgotten, a king's name included.",
            ),
            wrong(
                "The last piece only, since the cache was emptied.",
                "An emptied cache is filled again by reading the window once more.",
            ),
            wrong(
                "The first 512, because positions count from 0.",
                "Then it wouldn't see what it has just written. The window moves with the story's end.",
            ),
        ],
    ),
    Question(
        "lessons_from_one_text",
        "A batch holds one window of 256 tokens. How many predictions does the loss of a GPT average over?",
        "number",
        [
            wrong(
                "1",
                "Every position predicts its own next token, and the mask makes all of them fair at once.",
            ),
            wrong(
                "32896",
                "That is the number of pairs of positions under the mask. Each position makes one prediction.",
            ),
            wrong("65536", "That is 256². Each position makes one prediction."),
        ],
        answer=256,
        why="One per position. That is why a single pass over a text teaches so much.",
    ),
    Question(
        "compare_two_tokenizers",
        "Model A: 3.0 nats per token, with tokens of 4 bytes on average. Model B: 2.0 nats per token, with tokens of 2 bytes. Same text. Which model predicts it better?",
        "single",
        [
            wrong(
                "B, because 2.0 is less than 3.0.",
                "B needs twice as many tokens for the same text, and pays for each of them.",
            ),
            right(
                "A.",
                "Yes: 0.75 nats per byte against 1.0. Only a loss per byte of text can be compared.",
            ),
            wrong(
                "You can't tell without knowing how large the vocabularies are.",
                "You don't need them. What counts is the surprise over the whole text.",
            ),
            wrong(
                "Neither is better.", "A pays 3.0 / 4 = 0.75 nats per byte, B pays 2.0 / 2 = 1.0."
            ),
        ],
    ),
    Question(
        "did_it_copy",
        "The story model writes a sentence that you find beautiful. How could you find out whether it made the sentence up or learned it by heart?",
        "open",
        answer="Search the training text for the sentence, and for its longest stretch of words that occurs there: the text is on your disk, which is rarely so for large models. Short stretches will be there in any case, so compare with a sentence that a person wrote in the same style, or with pages that the model was not trained on. A second sign is the loss: if the model finds the sentence far less surprising than others of its kind, it has probably seen it often. Neither shows that it understood anything.",
    ),
]

PREDICTIONS = [
    Prediction(
        "what_an_average_knows",
        "Where does the model with the average end up?",
        options={
            "below": (
                "below the last letter alone, because it reads up to 64 letters",
                "It does read them all. But in a mean of 40 letters nothing tells which one came last.",
            ),
            "between": (
                "clearly between the two yardsticks",
                "The last letter is in the mean as well, but with a weight of 1/(t + 1), and that drowns in the others.",
            ),
            "frequencies": (
                "about where the letter frequencies are",
                "Right. An average over many letters is nearly the same at every position, so there's little to learn from it.",
            ),
        },
        ask_why=True,
        recall="weight_of_the_last_letter",
    ),
    Prediction(
        "where_one_head_looks",
        "After training, how much of its weight does the head give to the position's own letter, the last one that was read? (On average over the positions from 8 on.)",
        slider=True,
        low=0,
        high=100,
        unit="%",
        close=0.1,
        too_low="Nothing else brings this letter to the output: there is no residual path yet. And no other letter says as much about the next one.",
        too_high="The letters before help as well, so the head leaves them a share of the weight.",
        explain="There's one softmax, and all that reaches the output is its mixture.",
        recall="why_many_heads_here",
    ),
    Prediction(
        "four_narrow_heads",
        "What happens to the loss with four heads of width 16 instead of one of width 64?",
        options={
            "worse": (
                "it rises, because each head is too narrow to tell 50 letters apart",
                "Sixteen numbers are enough for what a head has to pass on, and there are four of them.",
            ),
            "same": (
                "it stays the same, because the parameters do",
                "The parameters are as many, but they're put to another use: four softmaxes instead of one.",
            ),
            "better": (
                "it falls",
                "Right. With four softmaxes, the letter just read and the ones before it no longer compete for the same weight.",
            ),
        },
        recall="why_many_heads_here",
    ),
    Prediction(
        "parts_or_depth",
        "Which of the two steps lowers the loss more: from four heads to one whole layer, or from one layer to three?",
        options={
            "parts": (
                "to one whole layer: the residual path and the feed-forward network",
                "At the top of the ladder depth is what is usually talked about. Here, a single layer made the larger difference.",
            ),
            "depth": (
                "to three layers, which have three times the parameters",
                "Depth helps, since one layer can build on what the layer below it has collected.",
            ),
            "equal": (
                "both about equally much",
                "Both lower the loss, and the figure shows how much.",
            ),
        },
        ask_why=True,
        recall="order_in_a_gpt_layer",
    ),
    Prediction(
        "share_of_the_feed_forward",
        "Which share of GPT-3's parameters lies in its feed-forward networks?",
        slider=True,
        low=0,
        high=100,
        unit="%",
        close=0.06,
        too_low="*Attention is all you need*, but it isn't where most parameters are: 8d² per layer belong to the feed-forward network and 4d² to the attention.",
        too_high="The four attention matrices of each layer count as well, 4d² of 12d².",
        recall="gpt3_by_pencil",
    ),
    Prediction(
        "which_task_it_learned",
        "Two kinds of questions are about grammar (*his or her*, *one or many*), two about meaning (*who is who*, *good or bad*), ten questions each. With guessing, it would be five of ten. What do you expect of our small model?",
        options={
            "grammar": (
                "it's clearly better at grammar, by at least two",
                "Agreement shows in nearly every sentence of the text, so it pays to learn it first. Who speaks or who is wicked matters for far fewer pieces.",
            ),
            "meaning": (
                "it's clearly better at meaning, by at least two",
                "Fairy tales are full of foxes that eat geese, so it has seen such scenes. Grammar has more exceptions than one would think.",
            ),
            "equal": (
                "there's hardly a difference",
                "Both kinds turn up in its training text, and neither was ever a task of its own.",
            ),
        },
        ask_why=True,
    ),
    Prediction(
        "most_surprising_text",
        "Which of the three costs the model most bits per byte?",
        options={
            "unseen": (
                "the fairy tales that it has never seen",
                "It has never seen these pages, but it knows this kind of text, and that is what counts.",
            ),
            "shuffled": (
                "the fairy tales with their words shuffled",
                "These are all words that the model knows, but in an order that never tells it what comes next.",
            ),
            "holmes": (
                "Sherlock Holmes",
                "Other words and other subjects make Holmes harder than a fairy tale. But it's English in its proper order.",
            ),
        },
        recall="compare_two_tokenizers",
    ),
    Prediction(
        "without_the_copying_heads",
        "What happens to the loss in the repetition when these heads are off?",
        options={
            "all": (
                "it goes back most of the way to the loss of the first passage",
                "Then no other head has learned to do the same work in another way.",
            ),
            "some": (
                "it rises, but the model still copies rather well",
                "Then other heads do some of the work, as in lesson 06, or the attention of the first layer helps.",
            ),
            "nothing": (
                "it hardly changes, because other heads stand in",
                "That is how the translator's heads behaved in lesson 06. This model is far smaller and has a single task.",
            ),
        },
    ),
]
