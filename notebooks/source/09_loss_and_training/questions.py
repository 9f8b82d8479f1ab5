"""Questions of lesson 09, loss and training."""

from helpers.exercises.written import predictions, questions

QUESTIONS = questions(r"""
[what_cross_entropy_wants: single]
What do you pass to F.cross_entropy?
+ The logits, which come out of the last linear layer, without any softmax after it. | Yes. It takes log_softmax itself, which is numerically safer than a softmax followed by a logarithm.
- Probabilities, which come out of a softmax after the last layer. | Then the softmax is applied twice. There's no error message, but the loss can't come near 0 and learning is slow.
- Log-probabilities, because the loss is a negative logarithm. | Those are for F.nll_loss. cross_entropy takes the logarithm itself.
- The likeliest token at each position, to be compared with the target. | argmax has no gradient, and it throws away how sure the model was.

[landmark_log_v: number]
An untrained model with a vocabulary of 8,000 finds every token equally likely. What is its cross-entropy, in nats per token?
- 12.97 | That is log₂ 8000, in bits. Nats need the natural logarithm.
- 3.9 | That is the logarithm to base 10.
- 8000 | That is the perplexity. The loss is its logarithm.
- 0.000125 | That is the probability 1/8000. The loss is minus its logarithm.
- 0 | Only a model that is always sure and right has a loss of 0.
answer: 8.987
why: −log(1/8000) = log 8000 ≈ 8.99. If a loss curve starts much higher, the model starts out sure of wrong tokens.
tolerance: 0.002

[padding_in_the_loss: multiple]
By mistake the loss is averaged over all positions, padding included, and half of them are padding. What follows?
+ The loss looks better than it is. | True: the model soon predicts padding with certainty, so padding costs nothing.
+ The same sentence has a different loss in a different batch. | True: how much padding it gets depends on its neighbours.
+ At first, the model mainly learns to predict padding. | True: padding is the commonest target of all.
- Nothing, since the attention masks hide padding. | Not so: masks hide padding from attention, but the loss still asks for a prediction at every position.
- The loss becomes NaN. | Not so. It would be better if it did, because as it is, nothing seems to be wrong.

[smoothed_target: number]
Label smoothing with ε = 0.1 over 4 classes, as in F.cross_entropy. What is the target of the right class?
- 0.9 | That is 1 − ε. The right class gets its share of ε as well, which is ε/V more.
- 0.025 | That is the target of each wrong class: ε/V.
- 0.975 | That subtracts only ε/V. Subtract all of ε, then add ε/V.
- 1 | That is the target without smoothing.
answer: 0.925
why: 1 − 0.1 + 0.1/4. The other three have 0.025 each, so the sum is 1.

[shape_of_the_rate: single]
How does the learning rate of the 2017 paper change during training?
+ It rises linearly, then falls with the inverse square root of the step. | Yes. After four times as many steps it is half as high.
- It rises linearly, then falls exponentially, by the same factor in every thousand steps. | Many people think so. An exponential would soon be close to 0, whereas step^−0.5 falls ever more slowly.
- It starts at its highest value, then falls with the inverse square root of the step. | That leaves out the warm-up, with which the 2017 paper begins.
- It rises and falls like half a cosine. | Many later models do that, but the 2017 paper doesn't.

[order_of_training_step: order]
Put one step of training in order.
* shift the target into decoder input and labels
* compute the logits
* average the cross-entropy over real tokens
* compute the gradients
* clip the gradients if their norm is too large
* take the optimiser's step
why: Forward, loss, backward, clip, step. Clipping after the optimiser's step would clip nothing. Clearing the gradients isn't on the list because it has two right places: at the very beginning or at the very end.

[perplexity_and_loss: match]
Match each loss, in nats per token, with what it tells you.
* 0 -> always sure and always right
* log 2 -> as unsure as between two words
* log V -> as unsure as between all words
* more than log V -> sure of wrong words
why: The perplexity is exp(loss), which gives 1, 2, V and more than V.

[when_to_stop: open]
The training loss still falls, the validation loss has risen for three epochs, and BLEU on the validation set still creeps up. Do you stop? What do you keep?
answer: It depends on what the model is for. A rising validation loss means that the model has become overconfident: where it's wrong, it gives the wrong token a high probability. BLEU depends only on the chosen words, and those might still get better. For translation, choose the weights by BLEU on validation data, and stop when BLEU hasn't risen for a while. If you need the probabilities themselves, for sampling or as a measure of confidence, choose by the loss. In either case, keep the best weights and not the last ones, and don't touch the test set until you've chosen.

[which_number_to_trust: open]
Model A has loss 1.40 and BLEU 38.2, model B has loss 1.55 and BLEU 38.9. A colleague says that B is better. What would you ask first?
answer: First ask whether the losses can be compared at all. Both models need the same vocabulary and tokenizer, both losses have to be computed without label smoothing, and both have to leave padding out. With label smoothing, the loss is higher and BLEU is often better. Next, how was BLEU computed? It should be with sacrebleu, on the same references, with the same decoding and beam. And how much is chance? A different seed can change BLEU on a thousand sentences by about 0.7, so train each model with a few seeds, or resample the test sentences. Finally, read some translations of both.
""")

PREDICTIONS = predictions(r"""
[share_of_real_words]
The model is right at 65% of all positions. What share of the real tokens, words and <eos>, does it get right?
too_low: It has learned a little English: which words are frequent, and that a sentence often starts with *the*.
too_high: The positions that raise the average aren't words. About half of all positions are padding, and there the model is always right.
unit: %
close: 0.06
ask_why: yes
recall: padding_in_the_loss

[bold_or_careful]
A gives the right token 0.6 five times. B gives it 0.9 four times and 0.01 once. Which model has the lower cross-entropy?
- bold: model B, by more than 0.05 nats | Its average probability is higher, 0.72 against 0.6. But we average logarithms.
- careful: model A, by more than 0.05 nats | Yes, by half a nat.
- equal: neither by more than 0.05 nats | That would be quite a coincidence. Compare −log 0.01 with the sum of A's five losses.
explain: B's single miss costs −log 0.01 = 4.6 nats, while A's five losses of −log 0.6 add up to only 2.6.
ask_why: yes

[first_loss_of_a_transformer]
log V is 5.0 and the unigram entropy is 4.1. What was the loss of the untrained Transformer, at the first step of a correct run?
- above: more than 6 | Yes, and a loss above log V means that wrong words have high probabilities.
- at: 4.5 to 5.5 | That's true of a model that gives every word about the same probability, but random weights can also be sure of a wrong word.
- below: less than 4.5 | For that, the random weights would have to know which words are frequent.
explain: Being sure and wrong costs more than knowing nothing.
ask_why: yes
recall: landmark_log_v

[harm_of_counting_padding]
One model counted padding in its training loss, and the other didn't. We measure both on real words. How far is the first behind the second?
- a bit: by 0.15 to 0.5 nats | You'd expect the model to lose time learning the padding. But a few steps are enough for that.
- same: by less than 0.15 nats | Yes, if it's behind at all.
- worse: by more than 0.5 nats | The log was wrong by more than that. But a wrong report doesn't make a wrong gradient.
explain: Once padding is learned, it hardly contributes to the gradient, so what's left comes from the real words. Dividing the loss by too many positions makes this gradient too small, but Adam makes up for that.
ask_why: yes

[gradients_never_cleared]
Nobody clears the gradients. What does the loss of the tiny Transformer do in 60 steps of Adam?
- stuck: it falls at first, then swings far above zero | Yes, with each of three seeds.
- same: it falls to nearly zero, as the other run's does | Adam makes up for the size of the gradient, but not for its direction.
- nan: it falls at first, then rises until it's NaN | The sums of gradients do grow. But Adam divides by their size, so the steps stay finite.
explain: Each step follows the sum of all gradients so far, and most of those belong to weights that the model no longer has.
ask_why: yes
recall: order_of_training_step

[floor_of_smoothing]
ε = 0.1 and 37,000 tokens: what's the loss of a model that matches the smoothed target perfectly?
- high: about 1.4 | Yes, more than a nat with nothing left to learn.
- third: about 0.4 | That's about right for six words. With more words, each word's share of ε is smaller, so its −log is larger.
- tenth: about 0.1 | That's −log 0.9, which is only the right word's part. Together, the other words get only 0.1 of the target, but each of them costs many nats.
- zero: about 0.0 | For that, all the probability would have to be on one word. The smoothed target asks for some probability on every word.
explain: A tenth of the target is on words with a probability of 0.0000027 each, and −log of that is 12.8. This is the target's own entropy, and no prediction can cost less. Never compare a loss with smoothing to one without. The paper found that smoothing made the perplexity worse and BLEU better.
recall: smoothed_target

[rate_at_the_end]
Warm-up ends at step 4,000 and training at step 100,000. How much of the peak learning rate is left at the end?
too_low: After the warm-up it falls as one over the square root of the step, which is much slower than 1/step or an exponential.
too_high: There are 25 times as many steps, and the rate falls with the square root of that.
unit: %
close: 0.04
recall: shape_of_the_rate
""")
