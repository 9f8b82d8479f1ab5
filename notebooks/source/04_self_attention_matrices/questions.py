"""Questions of lesson 04, self-attention with matrices."""

from helpers.exercises.written import predictions, questions

QUESTIONS = questions(r"""
[shapes_in_the_paper: shape]
Ten words of width 512 go through one head of width 64. What is the shape of Q Kᵀ?
- (10, 64) | That is the shape of Q and of K. The product Q Kᵀ sums over the width.
- (64, 64) | That would be Qᵀ K, one entry per pair of features. A score belongs to a pair of words.
- (512, 512) | The width of 512 is gone by then, because Q and K are 64 wide.
- (10, 512) | That is the shape of X. The product Q Kᵀ sums over the width.
answer: (10, 10)
why: One score per pair of words: (10, 64)(64, 10).

[why_root_d_k: single]
Why are the scores divided by √d_k?
+ Their standard deviation grows with √d_k, and large scores saturate the softmax. | Yes. You saw it in the variance of the scores, in the largest weight, and in the gradient.
- Without it, the weights in a row wouldn't sum to 1 once d_k is larger than 1. | The softmax makes every row sum to 1, whatever the scores are.
- There are d_k keys that share the weight, so each score has to be smaller. | d_k is the width of a key, not the number of keys.
- It keeps the weights positive. | exp is positive for any score, scaled or not.

[where_the_mask_goes: single]
Where does the mask act?
+ On the scores, as −∞, before the softmax. | Yes. exp(−∞) is 0, so a masked position adds nothing to the sum and gets no share of it.
- On the weights, as 0, after the softmax. | Then rows no longer sum to 1, and masked positions still count in the denominator.
- On the weights, as −∞, after the softmax, so that nothing is left of them. | A weight of −∞ would make the context infinite or NaN. It's the scores that become −∞.
- On the values, as 0, so that there is nothing to pass on. | The masked positions would still take their share of the weight.

[cheaper_than_recurrence: multiple]
Compare self-attention with a recurrent layer of the same width. Which of these are true?
+ All positions can be computed at once. | True: no step waits for another.
+ Any two words are one step apart. | True: each query is compared with every key directly.
- It always needs fewer multiplications. | Not so: counting all products with matrices, a plain recurrent layer always needs fewer, and a GRU needs fewer once n exceeds d.
- Its attention weights need memory in proportion to the length. | Not so: in proportion to the square of the length.

[empty_row: single]
A query isn't allowed to attend to anything. What is the softmax of a row of −∞?
+ NaN, because it's 0/0. | Yes. Our version sets both such a row and its gradient to zeros.
- Zeros, because exp(−∞) = 0. | Each term of the sum is 0, and so is the sum itself. 0/0 isn't 0, so the code has to handle this case separately.
- Equal weights. | That is the result of −1e9 in place of −∞. It's wrong, and no error message says so.
- An error. | No error is raised. There's only a NaN, which then spreads to every weight of the model.

[how_many_scores: number]
A batch of 8 sentences of 50 words goes through attention with 4 heads. How many scores are computed?
- 20000 | 8 × 50 × 50 counts a single head. There are 4 heads.
- 1600 | That is one number per word and head. Each word is compared with 50 words.
- 10000 | That is one sentence. There are 8.
answer: 80000
why: 8 × 4 × 50 × 50.

[who_may_see_padding: open]
The padding mask hides padded keys, but padded queries still look at real words. Does that matter? Why don't we hide them too?
answer: It doesn't matter, because nothing uses what a padded query computes. Its row of the output belongs to no word, the loss skips it, and as a key it's hidden from all other words. If you hid the query as well, its row would have no allowed key at all, which gives 0/0 and has to be handled separately. The only cost is some wasted computation, which fused operators for batches of unequal lengths can save.

[why_not_zero_afterwards: open]
A colleague zeroes the weights after the softmax and then divides each row by its sum. Is that the same as −∞ before? Is it as good?
answer: In exact arithmetic the result is the same, because the denominator of the softmax cancels. In floating point it's worse. If a hidden score is much larger than all visible ones, the visible weights underflow to 0, and dividing by their sum gives NaN. You also have to handle rows whose sum is 0. With −∞, the hidden scores play no part from the start.
""")

PREDICTIONS = predictions(r"""
[share_of_the_strongest]
Without the division and with 512 entries per vector, what share of the weight goes to the strongest of the sixteen keys, on average?
explain: The scores are sums of 512 products, much larger than with 4 entries, and a softmax turns a lead of a few points into nearly all the weight.
too_low: The best score usually leads the second-best by several points, and to a softmax that is a lot.
too_high: Now and then two keys have almost the same score and share the weight.
unit: %
close: 0.06
ask_why: yes
recall: why_root_d_k

[model_b_after_400_steps]
Model B trains for 400 steps without the division. Guessing among the ten digits has a loss of 2.3. Where does the model's loss end?
- stuck: above 2, hardly better than guessing | A gradient of exactly zero would leave it there.
- half: between 0.5 and 2, with half of the cards read | That is where it is after 150 or 200 steps, on its way down.
- late: below 0.5, with most of the cards read | It needs several times as many steps as model A.
explain: Saturation makes learning slow, but not impossible.
ask_why: yes
recall: why_root_d_k

[which_mask_leaks]
The last of four words changes. In which version does at least one of the first three outputs change as well?
- neither: in neither of the two | In both, a word passes nothing on to the words before it. In one of the two, the last word can still change their weights.
- after: only where the weights are set to 0 | The last word is gone from the mixture, but not from the softmax's denominator.
- before: only where the scores are set to −∞ | e to the power of −∞ is exactly 0, so this version leaves no trace of the last word.
- both: in both of the two | Setting scores to −∞ is early enough. Setting weights to 0 comes too late.
explain: The softmax divides by a sum over all words. A word that is hidden only afterwards has already changed that sum, and with it every weight.
ask_why: yes
recall: where_the_mask_goes

[which_break_costs_more]
The translator reads captions with their true translations. Which of the two changes raises the loss per token more?
- mask: masking after the softmax | It's wrong in principle, but here the weights that remain keep their proportions.
- root: leaving out the square root | The translator's heads are 64 wide, so every score is eight times as large as in training.
- equal: the two cost about as much | One of the two leaves the proportions of the allowed weights alone.
explain: Without the square root, the proportions change in every row of every head. A mask after the softmax only makes the rows smaller.

[twice_the_length]
A text becomes twice as long. How many multiplications does attention need, compared with before?
- two: twice as many | There are twice as many queries, but the keys double, too.
- four: four times as many | Both sides of the comparison double.
- eight: eight times as many | Queries and keys double, but the width of each vector stays as it is.
explain: Twice as many queries, each compared with twice as many keys, make four times the work.
""")
