"""Questions of lesson 05, positional encoding."""

from helpers.exercises.written import predictions, questions

QUESTIONS = questions(r"""
[what_equivariance_means: single]
Self-attention without positions and without a causal mask reads a shuffled sentence. What comes out?
+ The same vectors, shuffled in the same way. | Yes: shuffle the input, and the output is shuffled too.
- The same vectors, in the old order. | That would be invariance, where the output doesn't change at all. Here each output moves along with its word.
- Different vectors, because every word has new neighbours. | Each word is compared with the same words as before. Their positions play no part.
- The average of all words, at every position. | Only if all the scores were equal.

[fast_and_slow_columns: single]
Which columns of the sinusoidal table tell position 3 from position 4?
+ Mainly the first ones, with the fast waves. | Yes. They change like the last bits of a counter.
- Mainly the last ones, with the slow waves. | Those waves are so slow that two neighbouring positions look the same.
- All of them to the same degree. | Their frequencies differ by a factor of up to 10,000.
- None of them, because neighbours look alike everywhere. | The first pair of columns turns by a whole radian per position.

[why_sine_and_cosine: single]
Why does each frequency have both a sine and a cosine?
+ A step of k is then one rotation of the pair, the same at every position. | Yes. With the sine alone there is no such matrix.
- The sine is zero at some positions, and the cosine fills in for it there so that nothing is lost. | The cosine does help there, but the reason is the rotation.
- One of them is added in the encoder, the other in the decoder. | Both of them are added in the encoder and in the decoder.
- The width of the table has to be an even number. | That is a consequence. The columns come in pairs, so the width has to be even.

[which_axis: shape]
x has the shape (32, 50, 512): 32 sentences of 50 words. What is the shape of the part of the positional table that is added to x?
- (32, 512) | That is one vector per sentence, so all its words would share it.
- (32, 50) | That is one number per word. Positions are vectors of the model's width.
- (512, 50) | The rows of the table are positions, so the 50 comes first.
answer: (50, 512)
why: One row per word. Broadcasting repeats it for all sentences.

[who_uses_what: match]
Match each model with how it encodes positions.
* the Transformer of 2017 -> sinusoids, added
* BERT -> a learned table, added
* GPT-2 -> a learned table, added
* models with RoPE -> rotations of queries and keys
why: BERT and GPT-2 learn their positions, whereas the 2017 model uses sinusoids.

[position_beyond_the_table: single]
A model with 512 learned positions gets a text of 600 tokens. What happens?
+ The text has to be cut or split, because the table has no row for its 513th token. | Yes. BERT's limit of 512 tokens is the length of its table.
- The table goes on by its formula, only less precisely. | A learned table has no formula. Sinusoids have one.
- Positions start again at 0 after 511. | Only if somebody programs it that way. Two words would then share a position.
- The last 88 tokens are treated as padding. | Padding fills up texts that are too short. This one is too long.

[when_order_does_not_matter: open]
Name a task for which a model without positions is just right, and one for which it is hopeless. What about guessing the mood of a film review?
answer: A model without positions is just right for questions about a set, such as the largest of several numbers, or whether a shopping basket contains milk. It's hopeless for translation, arithmetic and reversing. The mood of a review is in between. In many reviews single words are enough, so a bag of words does well, until somebody writes 'not good, not bad'.

[add_or_concatenate: open]
*Going deeper* shows that the position can be read back better if word and position are concatenated. Why did the Transformer of 2017, BERT and GPT-2 add all the same?
answer: Adding needs no extra width. Concatenation reserves a fixed part of the width for positions, while a model that adds can learn how many directions to use for them. Our measurement used random words, which point in all directions, and trained embeddings needn't do that. And attention can still separate the two, because a projection can pick out the directions in which positions vary.
""")

PREDICTIONS = predictions(r"""
[reverse_without_positions]
Eight different letters out of twenty go in, and they should come out in reverse order. After training, how often is a letter right?
explain: Seven other letters are possible at each place, and one in seven is about 14%.
too_low: The model can do better than guessing among all twenty letters, because it sees which eight there are.
too_high: To pick the right one of the seven other letters, the model would have to know where each of them is.
unit: %
close: 0.03
ask_why: yes

[is_it_position_seven]
For which encodings can one dot product and one threshold answer *is p = 7?* correctly at all 64 positions?
- alone: for one-hot vectors only | They have a column just for 7, but that isn't the only way.
- two: for one-hot vectors and sinusoids | A one-hot vector has a column for 7, and a row of sinusoids is most similar to itself.
- all: for all three encodings | The largest and the smallest of the fractions can be singled out, but not those between them.
explain: A multiple of p/T only rises or only falls, so it crosses a threshold once. All rows of the sinusoids have the same length, and each has its largest dot product with itself.
ask_why: yes
recall: fast_and_slow_columns

[dot_product_of_positions]
Take the dot product of the rows for positions *p* and *p*′. What does it depend on?
- distance: on how far apart the two are | Yes, and it doesn't even matter which of the two comes first.
- both: on where each of the two stands | Each row does depend on its position. But moving both on by the same number of steps changes nothing.
- neither: on nothing, it is always near zero | The slow columns are nearly the same for all 64 positions, so the rows are far from orthogonal.
explain: Each pair of columns is a clock hand, and the angle between two hands doesn't change when both turn by the same amount.
ask_why: yes
recall: why_sine_and_cosine

[reading_the_position_back]
At D = 512, how often does the linear map read the exact position (one of 40) back from the *sum* of word and position?
explain: Random directions in 512 dimensions are almost at right angles, so most positions can still be read. But the 600 words blur the difference between neighbours a little.
too_low: Vectors aren't numbers. Added vectors can often be taken apart again.
too_high: The directions are only almost at right angles, so some neighbouring positions are mixed up.
unit: %
close: 0.08

[rotary_scores]
Query at 10 and key at 7, query at 40 and key at 37, query at 7 and key at 10. Which of the three scores are equal?
- both: all three of them | The distance is always 3, but in the last case the key comes *after* the query.
- neither: none of the three | Each vector is turned by another angle, but only the *difference* of two angles enters a dot product.
- first: the first and second | In both, the key comes 3 positions before the query.
explain: All that's left in the dot product is a rotation by the difference of the two positions. Swap the positions, and it turns the other way.
""")
