"""Questions of lesson 16, who pays for long context?"""

from helpers.exercises.written import predictions, questions

QUESTIONS = questions(r"""
[what_grows_with_the_square: multiple]
A text becomes ten times as long. Which of these become a hundred times as large?
- The keys and values in the cache. | There's one key and one value per token, layer and head, so the cache becomes ten times as large.
+ The multiplications of attention when the whole text is read. | True: ten times as many queries, each with ten times as many keys.
- The work of the feed-forward layers. | Each token passes through them by itself, so the work becomes ten times as large.
- The multiplications of attention for one new token, with a cache. | There's a single query for ten times as many keys, which makes ten times as many multiplications.
+ The attention weights, if all of them are stored at once. | True: there's one weight for every pair of a query and a key.

[layers_for_a_window: number]
Every layer attends to the last 5 positions, the query's own included. A text has 101 tokens. How many layers does it take until the last output can depend on the first token?
- 20 | That would be right for steps of 5 positions. The window includes the query itself, so each layer reaches only 4 positions further back.
- 21 | That's 101 divided by 5, rounded up. But each layer reaches 4 positions further, not 5.
- 101 | That's about what a window of 2 would need, which reaches only one position further per layer.
answer: 25
why: The first token is 100 positions back, and each layer reaches 4 positions further.

[a_causal_global_token: single]
In a decoder, the first token is global, so every token attends to it and it attends to every token that the causal mask permits. Does that help information from token 50 to reach the last token?
- Yes, in two layers: the first token collects from token 50 and passes on what it has. | In an encoder it would. Here the causal mask hides token 50 from everything that comes before it, the first token included.
+ No, because the first token never attends to token 50. | Every token attends to it, but it has attended to nothing except itself.
- Only if token 50 is inside the last token's window anyway. | Then the last token needs no help. The question is what a global token adds.

[what_tiling_saves: single]
What does working through the keys in tiles save?
- Multiplications: most of the weights are nearly zero, so their tiles are skipped. | No tile is skipped. Every score is computed, and the result is exactly attention.
+ Memory and the traffic to it, because the n × n weights never exist at once. | Yes. The arithmetic is the same, and on a GPU the traffic is what takes the time.
- Exponentials: it replaces the softmax with a cheaper function. | The softmax is computed exactly, only in a different order.
- Keys and values: the cache becomes smaller. | All keys and values are still needed. What disappears is the matrix of weights.

[state_shape: shape]
Linear attention with keys of width 64 and values of width 32 has read 1,000 tokens. What is the shape of its state?
- (1000, 32) | That's the shape of the values. The state doesn't keep them apart.
- (1000, 1000) | That would be the weights, which are never computed.
- (32, 64) | It's the other way round. The rows are features of the key, the columns features of the value.
answer: (64, 32)
why: It's a sum of outer products φ(k) vᵀ, whatever the number of tokens.

[order_of_linear_attention: single]
Why can't ordinary attention be computed as Q (Kᵀ V)?
- Because Kᵀ V has the wrong shape for a product with Q. | The shapes fit: (T, K) times (K, D_v).
- Because a matrix product isn't commutative. | True, but the factors keep their order here. Only the brackets move, which an associative product allows.
- Because the division by √d_k comes between the two products. | A number can be moved anywhere in a product.
+ Because the softmax comes between the two products. | Yes. It needs the complete row of scores before the values are mixed.

[what_linear_gives_up: open]
Two models of equal size read a telephone directory of a thousand entries, one with ordinary attention, one with linear attention. Then each is asked for one number. What do you expect, and what would you measure to find out?
answer: Ordinary attention keeps a key and a value for every entry, so it can pick the right one however many there are. Linear attention keeps only the sum of all entries, in a matrix of fixed size. If there are many more entries than numbers in a key, the keys overlap, so what you read back is mixed with other entries. To find out, train both models on the task, because a trained model can choose better keys than random ones. Then plot the share of numbers that come back right against the number of entries, for several widths.

[which_for_which: match]
Match each method with what it gives up.
* a window in every layer -> direct links further back than the window
* tiles with an online softmax -> nothing in the result, only the stored weights
* linear attention -> exact look-up among many keys
* grouped-query attention -> a separate key and value per head
why: Each of them saves something different, which is why some models combine them.
""")

PREDICTIONS = predictions(r"""
[novel_in_the_cache]
GPT-3's 175 billion parameters take 350 gigabytes as 16-bit numbers. Suppose its window were long enough for a novel of 130,000 tokens. How much memory do the keys and values of the novel take?
- small: about 6 GB, a small part of what the parameters take | A key and a value together are only 24,576 numbers per layer, which looks harmless. But there are 96 layers and 130,000 tokens.
- middle: about 60 GB, a sixth of what the parameters take | That's roughly what a tenth of the layers or heads would need. All 96 layers keep keys and values for all 96 heads.
- large: about 600 GB, more than the parameters take | Yes: it's nearly 5 megabytes per token, and anyone who pastes another novel needs another cache.

[what_a_mask_saves]
Lesson 04's attention runs on a text of 2,048 tokens, with a mask that allows each query only the last 64 keys. How long do its three lines take, compared with no mask at all?
- little: a small fraction of the time, because 97% of the pairs are gone | They're gone from the result but not from the work, because `query @ key.T` computes every score before the mask is applied.
- half: about half the time, because the scores are still computed but the values aren't mixed | The second product is computed in full as well. It multiplies most values by zero.
- more: as long or even longer, because the mask is one step more on top of the scores | Yes. Every score is computed, and overwriting most of them with −∞ is an additional step.

[how_far_it_reads]
A model with two layers and a window that reaches 7 positions to each side is trained so that its last position reports the marked symbol. How does its accuracy depend on how far back the mark is?
- slope: it falls a little with every further position | A message that is passed on doesn't have to get weaker: layer 1 can copy it whole. Only at the edge of the reach is the model less sure, because few routes are left there.
- window: it's nearly perfect up to 7 positions, and then no better than chance | That's as far as a single layer reaches. In the second layer, the end attends to positions that have themselves attended to the mark.
- cliff: it's nearly perfect up to 14 positions, and then no better than chance | Yes. Within reach the model has learned to pass the message on; beyond it, nothing about the mark arrives.
- flat: it's nearly perfect at every distance in the text | Training can't change which positions are connected. Beyond the reach the gradient is exactly zero, so there's nothing to learn from.
recall: layers_for_a_window

[pairs_from_a_matrix]
We add up 512 random pairs of a key and a value, 64 numbers each, in one 64 × 64 matrix, without φ. Then we read it with every key. For how many of the keys is the result closer to the key's own value than to any other?
- most: nearly all, because random vectors of 64 numbers are nearly at right angles | Any two of them are nearly at right angles. But for two keys in three, the small overlaps with 511 other keys add up to something closer to another value.
- third: a third, because the overlaps with 511 other keys partly cancel out | Yes. The overlaps that don't cancel drown out most values, but a fair number of pairs survive.
- few: hardly any, because only 64 vectors fit at right angles in 64 dimensions | The others overlap, but only a little, and with either sign. Many of these overlaps cancel, so a fair number of pairs survive.
ask_why: yes

[cache_of_a_hybrid]
In a model of 60 layers, 50 attend only to the last 1,024 tokens and 10 to everything. At 131,072 tokens, how large is its cache compared with that of 60 full layers?
explain: The ten full layers keep everything, and the other fifty keep less than a hundredth of the text.
too_low: The ten full layers keep everything, and they are a sixth of all layers.
too_high: A layer with a window drops everything older, so 50 of the 60 layers keep next to nothing of a text this long.
unit: %
close: 0.03
""")
