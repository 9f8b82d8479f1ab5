"""Questions of lesson 06, multi-head attention."""

from helpers.exercises.content import Question, right, wrong

QUESTIONS = [
    Question(
        "shape_of_w_o",
        "D = 512, 8 heads of 64. What is the shape of W_O?",
        "shape",
        [
            wrong(
                "(512, 64)",
                "That is W_Q of one head. Eight outputs of width 64 side by side are 512 wide, and so is the output.",
            ),
            wrong(
                "(64, 512)",
                "Then its input would be one head's output. It's all eight, side by side.",
            ),
            wrong("(64, 64)", "Neither its input nor its output is 64 wide."),
        ],
        answer="(512, 512)",
        why="Its input has 8 × 64 = 512 entries, and its output has the model's width, 512.",
    ),
    Question(
        "what_a_head_sees",
        "What does one head see of a word?",
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
                "What the heads before it left over.",
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
            wrong("Only W_O gets larger.", "W_O is 512 × 512 in both."),
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
            wrong("2.83", "That is √8, the number of heads."),
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
                "True: that is what the number says. How much of the mixture it makes up also depends on how long that vector is.",
            ),
            wrong(
                "The prediction depends on that word.",
                "Not shown: others may carry the same, or W_O may ignore it. Switch it off and see.",
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
        "Your classifier says 'complaint' and its attention lies on the word 'refund'. Can you tell the customer that it decided because of that word? What would you do first?",
        "open",
        answer="Not on the map alone. It shows where weight went in some heads, not what the decision rests on. First intervene: replace 'refund', or silence those heads, and see whether the decision changes; try words with little weight as well. If it changes with 'refund' and not with others, you can say so, for this text.",
    ),
    Question(
        "how_many_heads",
        "Michel et al. found that after training most heads, one at a time, can be removed at hardly any cost. Then why not train with one head?",
        "open",
        answer="That a trained model can spare a head does not mean it could have been trained without it: during training many heads are many chances to find a useful relation, and others take over what one leaves. One at a time is also not all at once. The fair test is to train both: small models with one head usually do a little worse, and hardly anything is saved: the parameters and the products are the same, only the maps are fewer.",
    ),
]
