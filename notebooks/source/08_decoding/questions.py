"""Questions of lesson 08, decoding."""

from helpers.exercises.written import predictions, questions

QUESTIONS = questions(r"""
[mask_and_shift: single]
You train with the causal mask, but the targets are equal to the inputs instead of shifted. What will the model learn?
+ To copy its input, because the target is the input at the same position. | Yes. The mask hides what comes after position t, but not position t.
- The same as with the shift, because the mask is enough. | The mask allows position t to attend to input t, which is the target.
- Nothing: the loss stays at log V. | The loss falls to zero very soon, and that should make you suspicious.
- To predict two tokens ahead. | Input and target are at the same position, so nothing lies between them.

[what_temperature_does: multiple]
Logits are divided by a temperature of 0.5 before the softmax. What happens?
+ The likeliest token becomes likelier. | True: differences between logits double.
- The order of the tokens changes. | Not so: dividing by a positive number keeps the order.
+ The entropy of the distribution falls. | True: it becomes more peaked.
- Greedy decoding gives a different sentence. | Not so: the argmax stays where it is.

[top_p_keeps: number]
Probabilities 0.5, 0.3, 0.15, 0.05. How many tokens does top-p with p = 0.75 keep?
- 1 | The first token has 0.5, which doesn't reach 0.75.
- 3 | Two tokens already reach 0.8. The token that reaches p is the last one kept.
- 4 | Then nothing would be filtered out.
answer: 2
why: 0.5 + 0.3 reaches 0.75, and the token that reaches it is kept.

[what_the_cache_keeps: multiple]
What does the cache of a decoder layer keep?
+ Keys of earlier positions. | True: every later query is compared with them.
+ Values of earlier positions. | True: they are mixed at every later step.
- Queries of earlier positions. | Not so: each is used once, at its own position.
+ Keys and values of the encoder's output. | True: they never change, so they are computed once.

[shape_of_the_logits: shape]
A batch of 4 target sentences, padded to 20 tokens; a vocabulary of 4000. What is the shape of the logits in training?
- (4, 4000) | That is one step of decoding. In training all positions are computed at once.
- (4, 20) | That is the shape of the tokens. Each position has a logit for every token of the vocabulary.
answer: (4, 20, 4000)
why: (B, T, V).

[likelier_is_not_better: open]
A larger beam finds a sentence with a higher probability under the model, but with a lower BLEU. How can that be?
answer: The model's probability doesn't measure the quality of a translation. The model was trained to predict the next word of one human translation, given the right beginning. A short, bland output can be likelier than any single good translation, because there are many good ones and the probability is divided among them. A large beam finds the bland output, while a smaller beam might not.

[when_to_sample: open]
For which of these would you sample: a translation of a contract, a chatbot, test sentences for a program, subtitles? With which settings?
answer: Don't sample for the contract or the subtitles. There a surprise is an error, so use greedy decoding or a small beam. For the chatbot, sample with a top-p around 0.9 and a temperature a little below 1, for variety without nonsense. For the test sentences variety is the whole point, so sample at a higher temperature.

[likeliest_sentence: number]
In the tree with A and B, what is the probability of the likeliest sentence?
- 0.216 | That is A A, the sentence that greedy decoding writes. There is a likelier one.
- 0.18 | That is A alone: 0.6 × 0.3. There is a likelier one.
- 0.6 | That is only the first token. A sentence is complete with <eos>, and its probability is a product.
- 0.9 | That is the last step alone. Multiply by the probability of B, 0.4.
- 0.204 | That is A B: 0.6 × 0.34 × 1. There is a likelier one.
answer: 0.36
why: B and then the end: 0.4 × 0.9.
tolerance: 0.01
""")

PREDICTIONS = predictions(r"""
[one_pass_or_many]
The trained model reads an English sentence twice: first all twelve prefixes in a single pass, then each prefix in a pass of its own. How do the two sets of logits compare?
- same: equal at all positions, up to rounding | Yes. Even a hundred layers wouldn't change that.
- early: different at early positions, equal at late ones | They would differ if early positions read vectors that already contained something of later words. But every layer is masked, from the first to the last.
- late: equal at early positions, different at late ones | Late positions have the longest prefixes, but computing a prefix again leads to the same numbers.
explain: The mask is in every layer, so at no depth does a position depend on what comes after it. In one pass or in many, it reads exactly its prefix.
ask_why: yes

[loss_on_dice]
Each token is the throw of a die with 20 sides, so without cheating no model can get below log 20 = 3.0. Which of the two incomplete models ends far below that?
- no_mask: only the one without the mask | That one does. But look at the other one as well: without the shift, input t is target t.
- both: the one without the mask and the one without the shift | Yes, both cheat.
- no_shift: only the one without the shift | That one does. But without a mask, the model can read target t as well, because it's the next input.
- neither: neither the one without the mask nor the one without the shift | Mask and shift each block one way to cheat. If only one of them is there, training finds the way that's still open.
explain: There are two ways to look up the answer, and each precaution blocks only one of them.
ask_why: yes
recall: mask_and_shift

[does_the_beam_find_it]
For the caption with the station, a beam of 4 ranks whole sentences by their log-probability. What will it write?
- station: a sentence that ends in *station* | The beam did keep such a sentence, but not in first place.
- other: a new sentence, without *station* | There are several of those in the beam's list, but none of them comes first.
- same: the sentence that greedy wrote | Yes. No sentence that the beam found is likelier.
explain: The model gives the sentence with *station* a lower probability, so searching harder for the likeliest sentence doesn't help.
ask_why: yes
recall: likelier_is_not_better

[kept_at_the_full_stop]
At *red*, top-p with p = 0.95 keeps 14 tokens. The model is just as sure of the full stop. How many tokens does top-p keep there?
- few: fewer than 10 | That's what we'd like: the full stop and whatever else is plausible.
- some: from 10 to 100 | That's about what top-p keeps at *red*, where one rival has 2%. The full stop has no such rival.
- many: more than 100 | Yes, several hundred.
explain: The full stop has 92%, and no other token has more than a fraction of a percent. To collect the missing 3%, top-p has to take hundreds of tokens.
recall: top_p_keeps

[what_the_cache_saves]
Without the cache, writing 128 tokens sends 64 times as many positions through the decoder. How many times as fast is writing with the cache, on this machine?
- several: from 2 to 30 times as fast | Yes: much faster, but not by the factor that counting positions suggests.
- hardly: less than 2 times as fast | Attention does read all old keys in either case. But that's a small part of the work, and the cache saves the projections and the feed-forward layers of all old positions.
- all: more than 30 times as fast | That would be so if every position took the same time. In one large matrix product, many positions cost much less together than separately.
explain: A pass over 128 positions takes longer than a pass over one, but not 128 times as long, because the processor handles many positions at once.
recall: what_the_cache_keeps

[captions_with_a_rare_token]
We let the model write 200 captions by drawing from all 4,000 tokens. What share of these captions will contain at least one token from outside the best twenty?
too_low: A caption has about twelve tokens, so there are a dozen chances to draw a rare token.
too_high: At each single step a rare token is still unlikely.
unit: %
slider: no
close: 0.2
recall: what_temperature_does
""")
