"""Questions of lesson 01, sequence to sequence."""

from helpers.exercises.content import Question, right, wrong

QUESTIONS = [
    Question(
        "size_of_the_context",
        "A GRU encoder with a hidden state of 128 numbers reads a sentence of 40 words. How many numbers does a decoder without attention get to see of it?",
        "number",
        [
            wrong(
                "5120",
                "That would be all 40 states. Without attention only the last one is handed over.",
            ),
            wrong(
                "40", "One number for each word? The state has 128 numbers, whatever the length."
            ),
            wrong(
                "3.2",
                "128 / 40 is what there is for each word, if you like; handed over are all 128.",
            ),
        ],
        answer=128,
        why="The last state, 128 numbers, for 4 words as for 40. That is the bottleneck.",
    ),
    Question(
        "why_recurrence_is_slow",
        "A recurrent network reads 100 words. Why does a machine with more cores hardly help?",
        "single",
        [
            right(
                "Step t needs the state of step t − 1.",
                "Yes. The 100 small products come one after the other, so the other cores wait.",
            ),
            wrong(
                "A recurrent network has far more parameters than others.",
                "The same weights serve every step, so there are few of them.",
            ),
            wrong(
                "The tanh in every step is expensive to compute.",
                "It's a small part of the work, and its entries could be computed in parallel. The order of the steps can't.",
            ),
            wrong(
                "Each step computes with all of the words before it.",
                "Each step uses one word and one state. Attention is what uses all the words.",
            ),
        ],
    ),
    Question(
        "which_problems_attention_solves",
        "Attention is put on top of a recurrent encoder and decoder. Which problems does that solve?",
        "multiple",
        [
            right(
                "The bottleneck of one fixed vector.", "True: every encoder state can be looked at."
            ),
            right(
                "The distance from a target word to the source word it needs.",
                "True: one step, however long the sentence.",
            ),
            wrong(
                "The sequential computation.",
                "Not so: the recurrence is still there. Dropping it solved that, in 2017.",
            ),
            wrong(
                "The order of the words getting lost.",
                "The recurrent network never lost it; it reads in order. This becomes a problem when the recurrence goes.",
            ),
        ],
    ),
    Question(
        "shape_of_states",
        "A batch of B sentences of length S goes through an encoder with hidden width D_h. What is the shape of all its hidden states, batch first?",
        "shape",
        [
            wrong(
                "(B, D_h)",
                "That is one state for each sentence, such as the last. All of them have one more axis.",
            ),
            wrong(
                "(S, B, D_h)", "That is what nn.GRU gives by default. Batch first puts B in front."
            ),
            wrong("(S, D_h)", "That is one sentence. There are B."),
        ],
        answer="(B, S, D_h)",
        why="One state of width D_h for each word of each sentence.",
    ),
    Question(
        "steps_of_translation",
        "Put in order what a trained encoder–decoder does with a sentence.",
        "order",
        answer=[
            "look up the embeddings of the source words",
            "run the encoder over them",
            "hand the last state to the decoder",
            "give the decoder the begin of sentence",
            "take the likeliest word and give it back to the decoder",
            "stop at the end of sentence",
        ],
        why="First everything is read, then the state is handed over, then words are written one by one until the end of sentence.",
    ),
    Question(
        "path_lengths",
        "How many steps lie between two words that are n apart, in one or more layers of each kind?",
        "match",
        answer={
            "recurrent layer": "n",
            "convolutions of kernel k": "n / (k − 1)",
            "dilated convolutions": "log n",
            "self-attention": "1",
        },
        why="Attention makes the distance constant. Logarithmic is what dilated convolutions reach (ByteNet, WaveNet).",
    ),
    Question(
        "what_teacher_forcing_is",
        "What is teacher forcing?",
        "single",
        [
            right(
                "In training, the decoder's input is the true previous token.",
                "Yes. Every position can then be trained at once, and an early error doesn't spoil the rest of the sentence.",
            ),
            wrong(
                "In training, the decoder's input is the very token that it has to predict.",
                "Then there would be nothing left to predict. Its input is the token before.",
            ),
            wrong(
                "The model learns to reproduce the outputs of a larger model.",
                "That is distillation. The teacher here is the data.",
            ),
            wrong(
                "The loss is computed only at positions where the decoder was wrong.",
                "Every position counts. A token predicted with high probability just costs little.",
            ),
        ],
    ),
    Question(
        "is_a_transformer_a_cnn",
        "Someone says that a Transformer is a CNN plus attention. What would you answer?",
        "single",
        [
            right(
                "No. It has neither recurrence nor convolution over positions, and only attention moves anything between them.",
                "Yes. The feed-forward part works on each position alone.",
            ),
            wrong(
                "Yes, because its feed-forward layers are convolutions over neighbouring words.",
                "You can call them convolutions of kernel size 1, but a kernel of size 1 sees no neighbour.",
            ),
            wrong(
                "That is true of the encoder, whereas the decoder is a recurrent network.",
                "The decoder generates one token at a time, but it computes each of them with attention and has no hidden state to pass on.",
            ),
            wrong(
                "No. It's an LSTM with attention on top of it.",
                "That came before it, with Bahdanau et al. The Transformer dropped the recurrence.",
            ),
        ],
    ),
    Question(
        "everything_is_next_word",
        "Translation can be put as next-word prediction. Can deciding whether a review is friendly? How?",
        "open",
        answer="Yes. Write the review, then a sentence such as “All in all, this was”, and ask which next word is likelier, “great” or “awful”. A model that predicts text has to use what it read. Training on pairs of review and such an ending makes it explicit. What it costs: one has to choose the wording, and the model may prefer a word for other reasons, for instance because it is frequent.",
    ),
    Question(
        "bidirectional_decoder",
        "The encoder of lesson 01 reads in both directions. Why can the decoder not do that?",
        "open",
        answer="When the decoder writes word t, the words after it do not exist yet. In training they do, but a decoder that read them would learn to copy and be helpless when it writes by itself. The encoder has the whole source from the start, so nothing is given away by reading it backwards too.",
    ),
]
