"""Questions of lesson 06, multi-head attention."""

from helpers.exercises.content import Prediction, Question, right, wrong

QUESTIONS = [
    Question(
        "shape_of_w_o",
        "D = 512, 8 heads of 64. What is the shape of W_O?",
        "shape",
        [
            wrong(
                "(512, 64)",
                "That is the shape of one head's W_Q. Eight results of width 64 side by side are "
                "512 wide, and so is the layer's output.",
            ),
            wrong(
                "(64, 512)",
                "Then its input would be one head's output. In fact it's the outputs of all eight, side by side.",
            ),
            wrong("(64, 64)", "Neither its input nor its output is 64 wide."),
        ],
        answer="(512, 512)",
        why="Its input has 8 × 64 = 512 entries, and its output has the model's width, 512.",
    ),
    Question(
        "what_a_head_sees",
        "How much of a word does one head see?",
        "single",
        [
            right(
                "The whole vector, through its own projection.",
                "Yes. The whole vector, of shape (D,), is multiplied by a matrix of shape (D, K).",
            ),
            wrong(
                "Its own slice of the embedding, K of the D numbers.",
                "The projection is split between the heads, not the embedding.",
            ),
            wrong(
                "Only what the other heads haven't used.",
                "The heads work side by side, and none depends on another.",
            ),
            wrong(
                "The word's embedding, but not its position, which was added later.",
                "Positions were added before the first layer, so every head sees them.",
            ),
        ],
    ),
    Question(
        "parameters_of_heads",
        "A layer of width 512 goes from 8 heads of width 64 to 16 heads of width 32. What happens to its number of parameters?",
        "single",
        [
            right(
                "It stays the same.",
                "Yes. There are twice as many heads, and each is half as wide.",
            ),
            wrong("It doubles.", "There are twice as many heads, but each is half as wide now."),
            wrong("It halves.", "Each head is half as wide, but there are twice as many now."),
            wrong("Only W_O gets larger.", "W_O is 512 × 512 in both cases."),
        ],
    ),
    Question(
        "order_of_split_and_transpose",
        "Put the steps in order, from x to the output.",
        "order",
        answer=[
            "multiply x by W_Q, W_K and W_V",
            "split the last dimension into (H, K)",
            "swap the dimensions of words and heads",
            "attend, all heads at once",
            "swap the dimensions back",
            "merge (H, K) into one dimension",
            "multiply by W_O",
        ],
        why="On the way in, split and then swap. On the way out, swap and then merge.",
    ),
    Question(
        "which_root",
        "D = 512, 8 heads. By what number are the scores divided before the softmax?",
        "number",
        [
            wrong("22.63", "That is √512. The query and the key are only 64 wide."),
            wrong("64", "That is d_k. The scores are divided by its square root."),
            wrong("2.83", "That is √8, the root of the number of heads."),
            wrong("512", "That is the model's width. The scores are divided by √64."),
        ],
        answer=8.0,
        tolerance=0.01,
        why="√d_k = √64.",
    ),
    Question(
        "what_a_map_shows",
        "A head gives 95% of its weight to one word. What do you know?",
        "multiple",
        [
            right(
                "95% of the weight falls on that word's value.",
                "True: that's what the number says. How much of the mixture comes from this "
                "value also depends on how long its vector is.",
            ),
            wrong(
                "The prediction depends on that word.",
                "Not shown: other heads might pass on the same information, or W_O might ignore "
                "it. Switch the head off and see.",
            ),
            wrong(
                "The head is important.",
                "Not shown: lesson 06 found a sharp head that hardly matters when it's switched off.",
            ),
            right("The other words share 5% of the weight.", "True: every row sums to 1."),
        ],
    ),
    Question(
        "is_attention_explanation",
        "Your classifier says 'complaint' and its attention is on the word 'refund'. Can you tell the customer that it decided because of that word? What would you do first?",
        "open",
        answer="Not from the map alone. It shows where the weight of some heads went, but not "
        "what the decision depends on. So intervene first: replace 'refund', or silence "
        "those heads, and see whether the decision changes. Do the same with words that "
        "get little weight. If the decision changes with 'refund' and not with the other "
        "words, you can say so, for this text.",
    ),
    Question(
        "how_many_heads",
        "Michel et al. found that after training, you can remove most heads one at a time at "
        "hardly any cost. So why not train with a single head?",
        "open",
        answer="A trained model might not need a head, but that doesn't mean the model could "
        "have been trained without that head. During training, many heads mean many "
        "chances to find a useful relation, and the other heads can take over what one of "
        "them did. Also, removing heads one at a time is different from removing them "
        "all at once. The fair test is to train both models. Small models with one head "
        "usually do a little worse. And you'd save hardly anything, because the "
        "parameters and the matrix products stay the same. You'd only have fewer maps.",
    ),
]

PREDICTIONS = [
    Prediction(
        "both_at_once",
        "Among the 72 rows of *it*, is there one that gives at least a third of its weight to *animal* and at least a third to *tired*?",
        options={
            "several": (
                "yes, several",
                "A row could do that, and it would be useful. But here every row that gives a lot "
                "of weight to one of the two words gives little to the other.",
            ),
            "one": (
                "yes, exactly one",
                "You might expect one specialised map for this. But in this model, two maps "
                "share the work.",
            ),
            "none": (
                "no, none",
                "Right. A row could split its weight between the two words, but none of these comes anywhere near.",
            ),
        },
        ask_why=True,
        recall="what_a_map_shows",
    ),
    Prediction(
        "one_row_or_two",
        "We train each model five times. With two rows, every run gets practically all sentences right. With a single row the runs differ, so take the middle one of the five. In what percentage of the sentences does it get both names right? A model that knew the two people but had to guess who gives would reach 50%.",
        slider=True,
        low=0,
        high=100,
        unit="%",
        close=0.07,
        too_low="With equal weights it could be right in at most half of them. But the weights can depend on the names, and every value contains its word's position, so the two orders can give different mixtures.",
        too_high="Any weight that the giver gets is weight that the receiver can't have. So a single row has to make do with a mixture, and now and then it mistakes one person for the other.",
    ),
    Prediction(
        "torn_split",
        "Six words of width 8, two heads. `all_queries.reshape(1, 2, 6, 4)` has the right shape, (B, H, T, K). What does the second head hold?",
        options={
            "columns": (
                "the last four columns of all six words",
                "That is what it should hold. A reshape reads the numbers in the order in which they are stored, word after word, so its first half is the first three words.",
            ),
            "words": (
                "the last three words, each cut into two rows",
                "Right: a reshape reads the numbers word after word, so the second half of the numbers is the second half of the words.",
            ),
            "alternate": (
                "every second column of all six words",
                "The heads would then be interleaved. But a reshape doesn't skip any numbers: it "
                "reads them word after word.",
            ),
        },
        recall="order_of_split_and_transpose",
    ),
    Prediction(
        "eight_heads_or_one",
        "At width 512, compare eight heads of width 64 with a single head of width 512. Which layer has more parameters, W_O included?",
        options={
            "eight": (
                "the one with eight heads",
                "It has eight times as many small matrices, but each of them is an eighth as wide.",
            ),
            "single": (
                "the one with a single wide head",
                "Its matrices are eight times as wide, but there are only an eighth as many.",
            ),
            "equal": (
                "neither, they have the same number",
                "Right: eight times as many matrices, each an eighth as wide.",
            ),
        },
        recall="parameters_of_heads",
    ),
    Prediction(
        "where_a_head_writes",
        "The translator is 256 wide and has four heads per layer. After training, how "
        "much of a head's contribution to the output lies *outside* its own 64 columns? "
        "We measure it by the squares of the numbers in the head's rows of W_O.",
        slider=True,
        low=0,
        high=100,
        unit="%",
        close=0.06,
        too_low="Nothing ties a head to the columns with its own number. W_O is learned like "
        "every other matrix, and each of its rows is as wide as the model.",
        too_high="A head doesn't avoid its own columns, either. They are a quarter of all "
        "columns, and they get about a quarter.",
        ask_why=True,
        recall="shape_of_w_o",
    ),
    Prediction(
        "when_the_street_is_too_wide",
        "In layer 4, head 2, *it* gave most of its weight to *animal*. What does *it* do when the sentence ends in *too wide*?",
        options={
            "street": (
                "it gives more weight to *street* than to *animal*",
                "That is what we would do, and it's the story that is usually told with this "
                "pair of sentences. In this head the weights change in the right direction, but "
                "not far enough.",
            ),
            "less": (
                "it gives less weight to *animal* than before, but still more than to *street*",
                "Right, and the weight that *animal* loses mostly goes to [CLS].",
            ),
            "same": (
                "it gives *animal* about the same weight as before",
                "By layer 4, the vector of *it* already contains information from the end of the "
                "sentence, so changing one word can change the whole row.",
            ),
        },
        recall="what_a_map_shows",
    ),
    Prediction(
        "the_far_layer",
        "In one of the six layers, every head looks at least 2.5 words away on average. Which one?",
        options={
            "first": (
                "the first",
                "In the first layer, some heads attend to nearby words and others to distant "
                "ones. One head has the shortest distance of all, because it attends to the "
                "previous word.",
            ),
            "fourth": (
                "the fourth",
                "Some heads of the fourth layer look far, but others look at words close by.",
            ),
            "last": (
                "the last",
                "Right: all the heads that attend to neighbouring words are in earlier layers.",
            ),
        },
    ),
    Prediction(
        "cheap_heads",
        "Switch off the translator's 36 heads one at a time, and measure the loss each time. For how many of the 36 does the loss rise by less than 10%?",
        low=0,
        high=36,
        unit="heads",
        too_low="Each head was trained together with all the others, and much of what one head does, another one does as well.",
        too_high="A few heads can't be replaced. Most of these are in the cross-attention, "
        "through which the decoder sees the French sentence.",
        recall="how_many_heads",
    ),
    Prediction(
        "a_sharp_head",
        "With all heads on, the loss is about 0.4 nats per token. How does it change when we switch off this one?",
        options={
            "much": (
                "it rises by more than 10%, that is, 0.04 nats",
                "With a map like this, you'd expect it to. But the translator gets the same information through other heads.",
            ),
            "some": (
                "it rises by 0.01 to 0.04 nats",
                "It's less than that, because the translator gets the same information through other heads.",
            ),
            "nothing": (
                "it changes by less than 0.01 nats",
                "Right. However clear the map is, nothing depends on this head alone.",
            ),
        },
        ask_why=True,
        recall="what_a_map_shows",
    ),
    Prediction(
        "eighteen_heads",
        "Take the 18 heads that cost least when they are switched off one at a time. On its own, each of them costs less than a hundredth of a nat. What does it cost to switch off all 18 together?",
        options={
            "nothing": (
                "nothing: the loss stays the same, or even falls a little",
                "That is what the 18 single changes add up to. But each of them was measured "
                "while the other 17 heads were still there to do its work.",
            ),
            "little": (
                "less than a tenth of the loss",
                "It's far more. Each single change was measured while the other 17 heads were "
                "still there to do its work.",
            ),
            "much": (
                "more than half of the loss",
                "Right: while one head is off, others do its work, and now those are off as well.",
            ),
        },
    ),
    Prediction(
        "other_reasons",
        "We chose the best of the 72 heads by its accuracy, that is, by how often it favours the right noun. That was with the first eight reasons. What happens to its accuracy with the eight others?",
        options={
            "same": (
                "it stays within two points",
                "That would be so if we had chosen the head on other data. We picked the best of 72, and the best of many is partly lucky.",
            ),
            "falls": (
                "it falls, but stays above one half",
                "Right: a head that was chosen on some data looks worse on other data.",
            ),
            "chance": (
                "it falls to one half",
                "It isn't only luck: the head keeps more than half of its lead.",
            ),
        },
    ),
]
