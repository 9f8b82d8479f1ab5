"""Questions and predictions of lesson 01, sequence to sequence."""

from helpers.exercises.content import Prediction, Question, right, wrong

PREDICTIONS = [
    Prediction(
        name="a_clause_is_added",
        prompt="The sentence goes on: *le chat touche le lapin pendant que les grandes vaches attendent .* (“… while the big cows wait”). What happens to the translation?",
        options={
            "both_right": (
                "Both parts come out right.",
                "Eleven words don't look like much, and the model knows every one of them. Yet it already makes a mistake.",
            ),
            "new_part_wrong": (
                "The first part stays right and the new part goes wrong.",
                "That would make sense if the words were translated one by one. But the model reads the *whole* sentence before it writes its first word.",
            ),
            "first_part_wrong": (
                "The new part comes out right and the first part goes wrong.",
                "The model reads the whole sentence before it writes anything, so what it reads last can damage what it read first.",
            ),
            "not_english": (
                "It's no longer correct English.",
                "The English stays correct, even in much longer sentences. What gets lost is what the French sentence *said*.",
            ),
        },
    ),
    Prediction(
        name="where_half_goes_wrong",
        prompt="We give the model 1,500 new sentences and count a translation as right only if every word is right. At what length, in French words, does it start to get more than half of the sentences wrong?",
        unit="words",
        low=4,
        high=40,
        slider=True,
        too_low="It holds up for longer than that: at ten words, nearly nine sentences out of ten are still right.",
        too_high="It fails sooner than that: between 17 and 20 words, three sentences out of four already contain a mistake.",
    ),
    Prediction(
        name="too_good_a_loss",
        prompt="After 60 training steps the colleague's loss is 0.00 and ours is about 1.1. Now both translate new sentences by themselves, word by word. What does the colleague's model write?",
        options={
            "better": (
                "better translations than ours",
                "A lower loss usually means a better model, but only if the task in training is the same as the task afterwards. Here it isn't.",
            ),
            "same": (
                "about the same as ours",
                "The colleague's loss is several hundred times smaller than ours, so the two models must have learned different things.",
            ),
            "unrelated": (
                "correct English that has nothing to do with the French",
                "To write correct English it would have to know which word tends to follow which. The colleague's model never needed to learn even that.",
            ),
            "repeats": (
                "one word, over and over",
                "It has learned to copy its input. When it translates, its input is the word it has just written, so it writes that word again.",
            ),
        },
    ),
    Prediction(
        name="never_seen_not_dull",
        prompt="“not dull” occurs in no training text, though *not very dull* and *not silly* do. What does the model make of *the film was not dull . verdict :*?",
        options={
            "bad": (
                "mostly *bad*, because *dull* is a bad word",
                "A model that only adds up good and bad words would say so. This one reads in order, and after *not* it reads the same word in a different state.",
            ),
            "undecided": (
                "undecided, because *not* and *dull* pull in opposite directions",
                "They would if the model simply added up the words. But after *not* the model is in a different state, so the same *dull* has a different effect.",
            ),
            "good": (
                "mostly *good*",
                "It has seen *not* right before other adjectives, and *not very dull*, and it combines the two.",
            ),
            "neither": (
                "some other word, because the model has never seen *not dull*",
                "After *verdict :* all it has ever seen is *good* or *bad*, so almost all of the probability goes to these two.",
            ),
        },
    ),
    Prediction(
        name="loop_against_product",
        prompt="We give one core a text of 512 words. A linear layer takes all words in *one* matrix product. PyTorch's `nn.RNN` takes them one by one, in fast C++, and does twice as many multiplications. How many times as long does `nn.RNN` take?",
        unit="times as long",
        low=1,
        close=0.5,
        too_low="Twice the multiplications explain a factor of two. The rest is the price of 512 small products instead of one large one.",
        too_high="It isn't quite that bad on a single core. On a machine with thousands of cores, such as a GPU, the gap is wider.",
    ),
    Prediction(
        name="one_colour_changes",
        prompt="In a French sentence of more than 20 words we change one single word, *rouge* to *jaune* or back. In the translation only *red* or *yellow* should change. On average, how many *other* words of the translation disappear or change?",
        unit="words",
        low=0,
        high=10,
        slider=True,
        step=0.5,
        too_low="Changing one word would leave the others alone if each word had its own vector. Here all words share the same 128 numbers.",
        too_high="It isn't that bad: most of the sentence stays.",
    ),
    Prediction(
        name="fresh_lstm",
        prompt="Now take an LSTM that has *not* been trained yet, exactly as PyTorch creates it. How much of the gradient of its last state reaches the word 25 steps back, as a share of what reaches the last word?",
        options={
            "most": (
                "more than half",
                "That's what an LSTM *can* do, once its forget gates are open. A fresh one has them half closed.",
            ),
            "some": (
                "between a thousandth and a half",
                "A trained one reaches that. A fresh one has forget gates of about 0.5, and 0.5 multiplied by itself 25 times leaves next to nothing.",
            ),
            "nothing": (
                "less than a thousandth",
                "A fresh forget gate is the sigmoid of something near 0, so about 0.5. After 25 steps next to nothing is left.",
            ),
        },
    ),
    Prediction(
        name="layers_to_32",
        prompt="Two words are 32 positions apart. How many layers of *dilated* convolutions (kernel 3, dilations 1, 3, 9, 27, …) does it take, if each layer looks back, before the output at the later word can depend on the earlier one?",
        unit="layers",
        low=1,
        too_low="Three layers reach 2 · (1 + 3 + 9) = 26 positions back, which isn't enough.",
        too_high="The reach triples with each layer, so it grows much faster than one might think.",
        explain="Without dilation it takes 16 layers, because each one adds only two positions.",
    ),
]

QUESTIONS = [
    Question(
        "size_of_the_context",
        "A GRU encoder with a hidden state of 128 numbers reads a sentence of 40 words. How many numbers does a decoder without attention receive about that sentence?",
        "number",
        [
            wrong(
                "5120",
                "That would be all 40 states. Without attention the decoder gets only the last one.",
            ),
            wrong(
                "40", "One number per word? The state has 128 numbers, however long the sentence."
            ),
            wrong(
                "3.2",
                "128 / 40 is the share per word. The question was how many numbers there are in all.",
            ),
        ],
        answer=128,
        why="The last state has 128 numbers, for 4 words and for 40. That is the bottleneck.",
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
                "It's a small part of the work, and its entries could be computed in parallel. The steps themselves have to wait for each other.",
            ),
            wrong(
                "Each step uses all of the words before it.",
                "Each step uses one word and one state. Attention is what uses all the words.",
            ),
        ],
    ),
    Question(
        "which_problems_attention_solves",
        "Suppose we keep the two recurrent networks, and let the decoder look back at every encoder state (lesson 02). Which problems does that solve?",
        "multiple",
        [
            right(
                "The bottleneck of one fixed vector.",
                "True: every encoder state is within reach, so the decoder gets more numbers for a long sentence than for a short one.",
            ),
            right(
                "The distance from an English word to the French word it translates.",
                "True: one step, however long the sentence.",
            ),
            wrong(
                "The sequential computation.",
                "It doesn't: both networks still run word by word. Only dropping the recurrence solved that, in 2017.",
            ),
            wrong(
                "The order of the words getting lost.",
                "A recurrent network never loses it, because it reads in order. Order becomes a problem only once the recurrence is dropped.",
            ),
        ],
    ),
    Question(
        "shape_of_states",
        "A batch of B sentences, each S words long, goes through an encoder with hidden width D_h. What is the shape of all its hidden states, batch first?",
        "shape",
        [
            wrong(
                "(B, D_h)",
                "That's one state per sentence, such as the last one. The tensor of all states needs one more dimension.",
            ),
            wrong(
                "(S, B, D_h)",
                "nn.GRU returns this by default. With batch_first=True, B comes first.",
            ),
            wrong("(S, D_h)", "That's a single sentence. There are B of them."),
        ],
        answer="(B, S, D_h)",
        why="One state of width D_h per word of each sentence.",
    ),
    Question(
        "steps_of_translation",
        "Put in order what a trained encoder–decoder does with a sentence.",
        "order",
        answer=[
            "look up the embeddings of the source words",
            "run the encoder over them",
            "pass its last state to the decoder",
            "give the decoder <bos>",
            "take the likeliest word and feed it back into the decoder",
            "stop at <eos>",
        ],
        why="The encoder reads everything first. Then its last state goes to the decoder, which writes word by word until it predicts <eos>.",
    ),
    Question(
        "path_lengths",
        "Two words are n positions apart. How many steps lie between them in each kind of network?",
        "match",
        answer={
            "recurrent layer": "n",
            "convolutions of kernel k": "n / (k − 1)",
            "dilated convolutions": "log n",
            "self-attention": "1",
        },
        why="Attention makes the distance constant. A logarithm is what dilated convolutions achieve (ByteNet, WaveNet).",
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
                "Then it would only have to copy, as our colleague's model did. Its input is the token before.",
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
                "No. It has neither recurrence nor convolution over positions, and only attention passes information between them.",
                "Its feed-forward part works on each position alone, so it isn't a convolution over positions either.",
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
                "That combination came earlier, with Bahdanau et al. The Transformer dropped the recurrence.",
            ),
        ],
    ),
    Question(
        "everything_is_next_word",
        "You have a large language model that has only ever predicted the next word of ordinary web pages. How could you use it, without any training, to decide whether a hotel review is friendly? What might go wrong?",
        "open",
        answer="Write the review, then the beginning of a sentence such as “All in all, this hotel was”, and compare the probabilities of “great” and “awful” as the next word. To predict it well, the model has to use what it read. Two things can go wrong. The result depends on how you phrase the sentence. And one of the two words might be likelier anyway, simply because it's more frequent, so compare with the probabilities after a neutral review.",
    ),
    Question(
        "bidirectional_decoder",
        "The encoder of lesson 01 reads in both directions. Why can't the decoder do that?",
        "open",
        answer="When the decoder writes word t, the words after it don't exist yet. In training they do, but a decoder that read them would learn to copy, like our colleague's, and be useless on its own. The encoder has the whole source from the start, so reading it backwards gives nothing away.",
    ),
    Question(
        "three_problems_in_your_words",
        "Name the three problems of recurrent networks, and one measurement of this lesson for each.",
        "open",
        answer="1. Sequential computation: each step waits for the one before. nn.RNN took many times as long as one matrix product over the same words. 2. No explicit modelling of long- and short-range dependencies: nothing in the network relates two particular words, so everything goes through one vector. Changing one colour in a long sentence cost about five other words. 3. Distance between positions: word 1 and word 30 are 29 steps apart, and the gradient has to travel through all of them. In a fresh network less than a thousandth reaches 25 steps back.",
    ),
    Question(
        "what_looking_back_changes",
        "If the decoder could look back at every encoder state, which of the three problems would go away and which would stay?",
        "open",
        answer="The decoder could relate each English word to particular French words, so the dependencies between source and target would be modelled explicitly and would be one step long. Inside the French sentence and inside the English one nothing changes: two words of the same sentence are still linked only through the recurrence, which takes as many steps as they are positions apart. And the sequential computation stays entirely, because both networks still run word by word.",
    ),
    Question(
        "one_word_for_one_word",
        "A friend says: “the model writes one English word for each French word.” What do you answer?",
        "open",
        answer="It writes one word per *output* position. It reads the whole French sentence first, and then writes until it predicts <eos>, so the number of English words is its own decision. “ne … pas” becomes “does not”, “l' homme” becomes “the man” and “nage” could become “is swimming”. Going deeper counts how often the two lengths differ.",
    ),
]
