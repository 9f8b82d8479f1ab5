"""Questions of lesson 02, Bahdanau attention."""

from helpers.exercises.written import predictions, questions

QUESTIONS = questions(r"""
[what_the_score_needs: single]
Target word t is about to be generated. What does Bahdanau's score of source word i depend on?
+ The decoder's previous state and encoder state i. | Yes: e = v · tanh(W s + U h_i). Without s, every step would attend to the same words; without h_i, it would attend to all words equally.
- The decoder's previous state and nothing else. | Then all source words would get the same score, and the context would be their plain average.
- Encoder state i and nothing else. | Then every target word would attend to the same source words.
- The distance between the positions i and t in the two sentences. | Positions don't enter the score. The model learns to stay near the diagonal.

[where_luong_attends: single]
Bahdanau's attention comes before the recurrent step. When does Luong's come?
+ After the recurrent step: the new state is the query, and the context joins it just before the output. | Yes: state, attention, output. In Bahdanau's model the old state is the query, and the context goes into the step.
- Before the recurrent step as well, but with a dot product instead of a small network as the score. | The scores do differ, but so does the order: Luong takes the step first and uses the new state as the query.
- In the encoder, between the source words. | Words of one sentence attending to each other is self-attention, from lesson 03. Both of these models attend from the decoder to the encoder.
- Before the first step: the context is computed once per sentence. | One context per sentence is the fixed vector of lesson 01. Here each target word has its own.

[bahdanau_shape: shape]
At one step of the decoder the query is (B, D_q) and the keys are (B, S, D_k); both are projected to the width A. What is the shape of tanh(…), before the product with v?
- (B, S) | That is the shape after the product with v, which sums over the width A.
- (B, A) | That is the query alone. It's added to each of the S keys.
- (B, S, D_k) | That is the shape of the keys before w_key. After it they have width A.
- (B, S, 1) | That would be the shape after a product with v as a column.
answer: (B, S, A)
why: One hidden layer of width A per source word and sentence.

[order_of_a_step: order]
Put one step of Bahdanau's decoder in order.
* take the decoder's previous state
* score every encoder state against it
* softmax over the source words
* mix the encoder states into a context
* take the recurrent step with context and previous word
* predict the next word
why: The old state is the query that finds the context. Only then comes the recurrent step.

[still_sequential: single]
A recurrent translator with attention is still slow to train on long sentences. Why?
+ Each decoder state still needs the one before it, so the steps wait for each other. | Yes. Attention removed the bottleneck. The waiting ended only when the recurrence was dropped as well.
- It isn't slow, because attention made all steps parallel. | Within one step, all the source words can be scored in parallel. But each step still waits for the one before.
- Its softmax runs over the whole source vocabulary. | It runs over the words of one source sentence, which are few.
- The encoder states are computed afresh at every decoder step. | They are computed once and kept. They are what the decoder looks back at.

[what_attention_changed: multiple]
Attention is added to the translator of lesson 01. Which of these are true?
+ Every target word has its own context. | True: the weights are new at each step.
+ All encoder states are kept, not only the last one. | True: they are what the decoder attends to.
+ It is trained by the translation loss alone. | True: nothing in the training data says which word belongs to which.
- The decoder no longer needs a recurrent state. | Not so: the recurrent state is the query.
- It has to be told which words belong together. | Not so: the weights have a gradient, so alignment is learned along the way.

[winner_by_pencil: single]
Which source word has the largest weight?
- The third, whose state is (−1, 0). | Its first entry cancels to 0, and the tanh of 0 is 0. Try the word whose state points the same way as s.
+ The first, whose state is (1, 0). | Yes: 2 and 0.5 go into its tanh, no other word has more in either place, and both entries of v are positive.
- The second, whose state is (0, 1). | Its first entry is just as large, 2. But its second is −0.5 instead of 0.5, so its score is lower.

[alignment_or_attention: open]
The map of weights looks like an alignment of words. When can you read it as one, and when not?
answer: The weights say where the context of a step came from. Often that's the word being translated, and if you know the true alignment, you can count how often, as the lesson does. But nothing in the loss asks for an alignment. A state of a recurrent encoder also contains information about its neighbours, so attending to the next word can work just as well. When the model needs nothing from the source, the weight often goes to the full stop. And if the decoder attends before its step rather than after it, the map can be shifted by one word. So compare the map with a known alignment, or change a source word and see whether the output changes.

[beyond_text: open]
A model writes a caption for a picture, with this attention. What are the keys, what are the values, and what does a row of weights show?
answer: The keys and values are vectors of regions of the picture, for instance one per cell of the grid that a convolutional network returns (Xu et al. 2015, with 14 × 14 cells). The query is the decoder's state, as before. A row of weights, drawn over the picture, shows where the model attended when it wrote that word. Nothing in attention depends on its vectors being words. Speech works in the same way, with short pieces of sound.
""")

PREDICTIONS = predictions(r"""
[long_sentences_with_attention]
With a fixed context vector, about one in seven sentences of more than 20 words came out without a mistake. What share comes out right when the decoder can look back?
explain: This is the average over the two longest groups, 21 to 30 and 31 to 40 words.
too_low: The sentence no longer has to fit into one vector, so its length hardly matters.
too_high: A few long sentences still contain a mistake.
unit: %
close: 0.06
ask_why: yes

[without_the_decoder_state]
Suppose you forget the decoder's part of the score, *W s*. What becomes of the weights?
- uniform: every word of the source has the same weight | That happens if you forget the *encoder's* part: then nothing tells the source words apart.
- frozen: every step of the decoder has the same weights | Nothing in the score changes from one step to the next.
- faded: every step still has its own weights, but flatter ones | The encoder states do depend on the whole sentence, but none of them depends on how far the decoder has come.
explain: What is left of the score depends on the source words alone, so the decoder can't attend to a different word at the next step.

[where_the_noun_looks]
In English the noun comes right after *red*. Every encoder state depends on the whole sentence. Where in the map is the noun's largest weight, compared with that of *red*?
- back: one French word further left | The noun's own state says most about it, and in French the noun comes before this adjective.
- same: at the same French word | The state of *rouge* does depend on the noun, but it says most about *rouge*, so training made the decoder move.
- on: one French word further right | That would be so if both languages had the same order. Here the word that's needed next comes earlier in French.
explain: The row of *red* has its largest weight on *rouge*, and in French the noun comes before *rouge*.

[alignment_error_of_the_model]
What is the alignment error rate of the model's maps, as a share from 0 to 1 (5% is 0.05)? A perfect map has 0, and linking the words in order, along the diagonal, has 0.55.
too_low: A model that translates perfectly doesn't need perfect maps. It's trained to find the next word, and nobody ever tells it where to look.
too_high: It does much better than a diagonal.
low: 0
high: 1
slider: yes
step: 0.01
close: 0.06
""")
