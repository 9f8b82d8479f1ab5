"""Questions of lesson 03, self-attention with vectors."""

from helpers.exercises.written import predictions, questions

QUESTIONS = questions(r"""
[where_embeddings_come_from: single]
Where do the input vectors of a Transformer's words come from?
+ From a table that is learned with everything else. | Yes. It could start from word2vec or GloVe, but it doesn't have to.
- From word2vec or GloVe, which are trained beforehand and stay fixed. | That used to be common. In a Transformer the table starts at random and is trained with the model.
- From features that somebody chose for each word. | We made up our vectors by hand to see what a dot product does. In a real model they're learned.
- From one-hot vectors, one dimension per word, used as they are. | A one-hot vector only picks a row of the table, and the model works with that row.

[what_the_weights_multiply: single]
A query is compared with the keys, and a softmax turns the scores into weights. What do the weights multiply?
+ The values. | Yes. Keys are what queries are compared with, and values are what is passed on.
- The keys. | A common mistake. The keys have done their work in the scores.
- The query. | The query is compared with the keys. The output is a mixture of the values.
- The embeddings, before any projection. | That's true only without parameters, where keys, values and embeddings are the same vectors.

[score_of_the_cat: number]
What is the score of *the* (query) against *cat* (key), before scaling?
- 1 | You took the row of *cat* as it is. Its key is the row times W_K: what's (0, 2, 1) · W_K?
- 3 | That is the score against *sleeps*, the third word.
- 2.31 | This is the score after it was divided by √3. The question asks for the score before that.
answer: 4
why: The query is (1, 0, 1) · W_Q = (2, 0, 1), the key of *cat* (0, 2, 1) · W_K = (2, 1, 0), and 2·2 + 0·1 + 1·0 = 4.

[shape_of_one_context: shape]
One query of width K attends to S keys of width K with values of width D_v. What is the shape of the context?
- (K) | That is the shape of the query. The context is a mixture of values.
- (S) | That is the shape of the weights: one per key.
- (S, D_v) | Those are the weighted values before they are summed.
answer: (D_v)
why: A weighted sum of S values of width D_v is one vector of width D_v.

[six_steps: order]
Put the six steps for one word in order.
* project to query, keys and values
* score: dot products of the query with every key
* divide by √d_k
* softmax
* multiply each value by its weight
* sum
why: Project, score, scale, softmax, weight, sum. Scaling after the softmax would be too late, because the weights would no longer sum to 1.

[why_three_projections: multiple]
Why does each word get three vectors instead of one?
+ So that its query can differ from its key. | True: a verb can search for its subject without resembling one.
+ So that a word doesn't have to attend mostly to itself. | True: if one vector plays all three parts, each word tends to score highest with itself, because a dot product with itself is a squared length.
+ So that what it passes on can differ from what it's matched on. | True: the weights multiply the values, which don't even have to be as wide as the keys.
- Because one matrix alone couldn't be learned. | One matrix can be learned just as well, but then one vector would play all three parts.
- Because the softmax needs three inputs. | It needs scores, whatever they come from.

[temperature_to_zero: open]
Divide the scores by a temperature that goes to 0. What does the soft look-up become? And why not use that, if we want one answer?
answer: All the weight goes to the key with the largest score, so it becomes an ordinary dictionary look-up. Such a look-up has no useful gradient: change the query a little and nothing happens, until suddenly another key wins and everything changes. The soft version can be learned, because every small change in a score changes the result a little.

[does_a_map_explain: open]
Your self-attention without parameters has a strong diagonal. Does that mean that words matter mostly to themselves?
answer: No. It only means that a vector has a large dot product with itself, namely its squared length. That follows from the arithmetic, whatever the words mean, and the effect is largest for long vectors. With learned queries and keys, the model can learn where to put the weight. Even then, a weight only says where something was taken from, and not what it was used for.
""")

PREDICTIONS = predictions(r"""
[weight_on_river]
*bank* divides its attention among all tokens, into weights that sum to 1. The model does this twelve times in each of its six layers. On average, what share of *bank*'s weight is on *river*?
explain: Hiding *river* from *bank* raised the similarity from 0.82 to 0.91, and yet *river* has only a small share of the weight.
too_low: It's hardly ever 0, because a softmax leaves something for every word.
too_high: The word that makes the difference needn't be the one with the most weight.
unit: %
close: 0.04
ask_why: yes

[what_zeros_take]
*the* scores 0 with each of the five words, itself included. What is its new vector?
- zeros: the five zeros that it had before | A score of 0 isn't a weight of 0. The softmax takes e to the power of each score, and e⁰ is 1.
- mean: the average of all five vectors | Equal scores become equal weights, and five equal weights are 0.20 each.
- sum: the sum of all five vectors | That would take five weights of 1. The weights of a row sum to 1.
explain: The softmax turns five equal scores into five equal weights, whether the scores are 0 or 100. Attention can't answer *nothing*.

[a_shiny_car]
Make the car shiny: *the small red shiny car stops*. The vector of *shiny* says that it's an adjective, but nothing about size or colour. What happens to the car's redness of 0.46?
- stays: it stays at 0.46 | *shiny* brings no colour of its own, but it matches the query, and its weight has to come from somewhere.
- falls: it falls to 0.31 | Three adjectives share what two shared before.
- zero: it falls to 0.00 | *shiny* doesn't replace *red*. All three adjectives score alike.
explain: The three scores are equal and the weights sum to 1, so each adjective is left with about a third.
ask_why: yes

[with_a_second_noun]
In how many of the English test sentences does the trained model get both the size and the colour right? Blind guesses would be right in 12.5% of them.
explain: The model finds two sizes and two colours, and nothing tells it which of them belong to its noun. It's still right in nearly half of the sentences, by luck or because both nouns share an adjective.
too_low: The model does better than blind guesses, because it can see which adjectives occur at all.
too_high: The words alone don't say which adjective belongs to which noun.
unit: %
close: 0.08
""")
