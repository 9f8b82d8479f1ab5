"""The course-wide review: three questions for each lesson from 01 on."""

from helpers.exercises.written import questions

QUESTIONS = questions(r"""
[review_bottleneck: single]
A GRU translator does well on 8 words and badly on 30. Give it attention, train it on the same sentences for as long, and it does well on both. Which explanation fits both observations?
+ Without attention, all that the decoder learns about the source passes through one vector of fixed size. | Yes. Whether that vector is too small, or the training was too short to use it well, is another question, and these two observations can't answer it.
- A long sentence has more words, so there are more chances for a mistake. | It has, but the model with attention has just as many chances and does well. In lesson 01 this accounts for only a small part of the fall.
- Long sentences contain rarer words, and the vocabulary is too small for them. | Attention doesn't change the vocabulary, so it couldn't help against that.
- Teacher forcing prepares the decoder for short sentences only. | Both models are trained with teacher forcing, and one of them does well on 30 words.

[review_path_convolution: number]
Take plain convolutions with a kernel of 3 that only look back. After how many layers does a position depend on the one 10 steps before it?
- 10 | A kernel of 3 reaches two steps back per layer, not one.
- 4 | That is 10 / 3, rounded up. But a kernel of 3 reaches only 2 steps back, because one of its taps is the position itself.
answer: 5
why: Each layer reaches 2 steps back: 10 / 2 = 5.

[review_teacher_forcing: single]
With teacher forcing, what is the decoder's input at step 4?
+ The true third token. | Yes, whatever the model itself would have generated there.
- Its own third token. | That is its input when it generates by itself.
- The true fourth token. | That is the target at this step.

[review_bahdanau_inputs: single]
What does Bahdanau's score of source word i at step t depend on?
+ The decoder's state before step t and encoder state i. | Yes, on both: e = v · tanh(W s + U h).
- The decoder's state before step t alone. | Then every source word would get the same score.
- Encoder state i alone. | Then the weights would be the same at every step.

[review_cost_of_cross: number]
A source of 20 tokens, a target of 15. How many weights does one cross-attention map hold?
- 35 | That is their sum. Every target token has one weight per source token.
- 400 | That would be a map of the source on itself.
answer: 300
why: One per pair of tokens: 20 · 15.

[review_alignment: single]
A map links *red* to the word beside *rouge*, and yet the translation is right. How is that possible?
+ An encoder state also contains its neighbours. | Yes. Lesson 02 found alignment errors in models that translate almost perfectly.
- The softmax was taken over the wrong dimension. | Then the model wouldn't have learned anything, but its translation is right.
- It isn't possible, because the map decides which word is generated. | The map decides what is mixed, not what the decoder makes of it.

[review_diagonal: single]
Self-attention without parameters puts a lot of weight on the diagonal. Why?
+ A vector's dot product with itself is its squared length. | Yes, and few other words reach that. Lesson 03 measured the share.
- A mask keeps each word from attending to most of the others. | There is no mask here.
- Each word's value is equal to its own embedding. | That is true without parameters, but values don't enter the weights at all.

[review_what_is_mixed: single]
What do the attention weights multiply?
+ The values. | Yes. Keys are what queries are compared with, and values are what is passed on.
- The keys. | Keys are compared with the query, and then they have done their work.
- The queries. | A query is compared with the keys. It isn't mixed.

[review_temperature: single]
You divide the scores by a temperature before the softmax and turn it down towards zero. What happens to the weights?
+ The key with the largest score gets all the weight. | Yes, unless two scores are equal.
- Every key gets the same weight. | That happens at the other end, at a very high temperature.
- All weights go to zero. | They can't, because they sum to 1 at every temperature.

[review_root: number]
A model has width 512 and 8 heads. By which number are the scores divided?
- 64 | That is d_k. The scores are divided by its square root.
- 22.6 | That is √512. Query and key are as wide as one head, which is 64.
answer: 8
why: By √d_k, and d_k = 512 / 8 = 64.

[review_mask_place: single]
Where does a mask act?
+ On the scores, before the softmax. | Yes. A score of −∞ becomes a weight of zero, and rows still sum to 1.
- On the weights, after the softmax. | Then rows no longer sum to 1.
- On the values, before they are mixed. | A value set to zero still takes its share of the weight.

[review_cheaper: single]
Leave out the products with the weight matrices. For which sentences does a layer of self-attention need fewer multiplications than a recurrent one?
+ For those shorter than half the width, n < d/2. | Yes: about 2n²d against nd², as counted in lesson 04. The paper leaves out the 2.
- For all of them, because no step waits for another. | Not waiting makes it faster, but the number of multiplications is larger from n = d/2 on.
- For those longer than the width, n > d. | It's the other way round, because n² grows faster.

[review_no_positions: single]
A layer of self-attention has no positions and no mask. You swap two words. What happens to the outputs?
+ They swap as well, and are otherwise the same. | Yes, the layer is permutation equivariant.
- All of them change, because each word's neighbours have changed. | Nothing in the layer depends on where a word is.
- None of them changes, and none of them moves. | They move, because each output belongs to its word.

[review_shift_rotation: single]
What happens to a pair of sinusoids when you move on by k positions?
+ It rotates by an angle that depends on k alone. | Yes, by the same angle at every position.
- It rotates by an angle that depends on the position. | The angle is k times the frequency, wherever you start.
- It gets longer by a factor that depends on k alone. | The sine and the cosine of one angle always form a vector of length 1.

[review_bert_positions: single]
How are positions encoded in BERT?
+ By a learned table. | Yes, with one row for each of 512 positions.
- By sinusoids. | The 2017 model uses those.
- By the causal mask. | BERT has no causal mask: every token is allowed to attend to every other.

[review_heads_parameters: number]
A model of width 512. W_Q for 16 heads of 32 has how many times as many weights as W_Q for 8 heads of 64?
- 2 | Twice as many heads, but each is half as wide.
- 0.5 | Each is half as wide, but there are twice as many.
answer: 1
why: It's 512 · 512 both times, because twice as many heads are half as wide.

[review_whole_vector: single]
What does one head see of a word's vector?
+ All of it, through its own projection. | Yes. The projections are split between the heads, and the vector isn't.
- The slice of the vector that belongs to the head. | Every entry of the head's query depends on every entry of the vector.
- Only what the heads before it left over. | The heads work side by side, and none depends on another.

[review_explanation: single]
A head's map points straight from *it* to *animal*. What follows?
+ A hypothesis, to be tested by switching the head off and measuring. | Yes. Lesson 06 shows a striking map of a head that hardly mattered.
- The model uses this head to resolve the pronoun. | It might, but the map alone doesn't show it.
- The model resolves the pronoun, whichever head does it. | A map doesn't show even that. The translation or a measurement has to.

[review_post_norm: single]
Which formula is the block of the 2017 paper?
+ LayerNorm(x + Sublayer(x)) | Yes, post-norm.
- x + Sublayer(LayerNorm(x)) | That is pre-norm, which most later models use.
- LayerNorm(x) + Sublayer(x) | Here the skip path itself is normalised, which neither of the two does.

[review_memory: single]
Where do the keys and values of the second decoder layer's cross-attention come from?
+ From the last encoder layer's output, projected by this decoder layer's own matrices. | Yes, and the same holds for every decoder layer.
- From the second encoder layer's output. | All decoder layers read the output of the last encoder layer.
- From the output of the first decoder layer. | The queries come from there.

[review_norm_axis: single]
Over what does layer normalisation take its mean?
+ Over the entries of one position. | Yes, each position by itself.
- Over one entry, across the whole batch. | That is batch normalisation.
- Over the positions of one sentence. | Then positions would depend on each other, and padding would count.

[review_shift_and_mask: single]
You train with a causal mask but forget the shift. What does the model learn?
+ To copy its input. | Yes. Position t is allowed to attend to token t, which is its target.
- The same as with the shift, only more slowly. | The answer is in the input, so nothing else has to be learned.
- Nothing, and the loss stays at log V. | The loss falls towards zero quickly, which is the problem.

[review_cache: single]
What does the key–value cache keep?
+ Keys and values of the prefix and of the source, per layer. | Yes. A query is needed only once, so it isn't kept.
- Queries, keys and values of the prefix, per layer, because all three are needed. | The query of a past position is never used again.
- The attention weights of the prefix, per layer and head. | Each new token computes a new row of weights. The old rows aren't needed again.

[review_length_penalty: single]
Why does beam search divide by a power of the length?
+ Each further token lowers the sum, so short sentences would win. | Yes. A log-probability is never positive.
- Each further token takes time, so the search would be slower for long sentences. | The penalty changes which sentence is best, not the amount of work.
- The probabilities of all finished sentences have to sum to 1. | Scores of sentences don't have to sum to anything.

[review_log_v: single]
An untrained model with a vocabulary of 10,000 prefers no token to another. What is its loss?
+ About 9.2 nats. | Yes, log 10,000.
- About 10,000 nats. | The loss is the logarithm of that number.
- Infinite. | Only if the right token had probability zero, or nearly.

[review_padding_loss: single]
By mistake the loss is averaged over padding as well. What do you see?
+ A loss that looks too good. | Yes, because padding is easy to predict.
- A loss that looks too bad. | Padding is the easiest target of all, so it lowers the mean.
- No difference. | It differs as soon as sentences differ in length.

[review_schedule: single]
After the warm-up, what does the 2017 paper's learning rate do?
+ It falls with the inverse square root of the step. | Yes. After four times as many steps it is half as high.
- It falls exponentially, to half its value every few thousand steps. | An exponential falls by the same factor in every stretch of equal length. This rate falls more and more slowly.
- It stays at the value that the warm-up has reached. | It falls, though slowly.

[review_first_bug: single]
Your decoder gets the first token right and then nonsense, but only when it generates step by step. Where do you look first?
+ At positions and cache, which differ when tokens come one at a time. | Yes. In a single pass, all positions are counted from 0 for you.
- At the encoder's output and its padding mask. | They are the same at every step, and position 1 was right.
- At the softmax and its scale. | They are the same at every step, and position 1 was right.

[review_weights_fit: single]
You load trained weights into your model without an error, and it generates nonsense. What do you know?
+ That names and shapes agree, and nothing about the computation. | Yes. Compare it stage by stage with a model that works.
- That your model is right, so the weights must be bad. | Shapes agree for many wrong models. Neither GELU in place of ReLU nor positions counted from 1 changes a shape.
- That the tokenizer isn't the one the model was trained with. | It might be that, but nothing here says so.

[review_classifier: single]
You turn an encoder into a classifier by averaging its outputs. What must the average leave out?
+ Padding. | Yes, or a short sequence's answer depends on the others in its batch.
- The first position. | The first position is as good as any other.
- The longest sequences. | Long sequences need no special treatment.

[review_next_merge: single]
In byte-pair encoding, two pieces have just been merged. What happens before the next merge is chosen?
+ All pairs are counted again. | Yes. Pairs that contained one of the two pieces have become rarer or have disappeared, and pairs with the new piece have appeared.
- Nothing: the pair that came second before the merge is next. | It may have lost most of its occurrences, because its letters are now inside the merged piece.
- The two old pieces are removed from the vocabulary. | They stay. Other words still need them.
- The model is trained for a few steps. | There's no model yet. The pieces come from counts alone.

[review_masked_positions: single]
A batch is padded to 512, and the padding is masked. What does the mask save?
+ Nothing. It only keeps the padding out of the results. | Every padded position still runs through all the matrices, so pad to the longest text of the batch.
- All the work for the padded positions. | They're computed like all the others, and then nobody reads them.
- The work of the attention scores, but not of the feed-forward network. | The scores are computed first and set to −∞ afterwards.

[review_unknown_token: single]
Which vocabulary can turn a word into an unknown token?
+ WordPiece, made of characters. | Yes. If a character isn't in the list, the whole word is unknown.
- Byte-level byte pairs, if the word never occurred in the training text. | Every word is made of bytes, and all 256 are in the list. It only takes more tokens.
- None of those that cut words into pieces. | Pieces help against rare words, but not against characters that aren't in the list.

[review_patches: number]
A ViT reads pictures of 32 × 32 pixels in patches of 8 × 8, with a class token. How many weights does one attention map hold?
- 17 | That's the number of tokens. A map has a weight per pair of tokens.
- 256 | That's 16². The class token attends and is attended to as well.
- 1024 | That's the number of pixels.
answer: 289
why: 4 × 4 = 16 patches and the class token make 17 tokens, and 17² = 289.

[review_set_of_patches: single]
Somebody shuffles the patches of every picture, and a ViT's answers don't change at all. What's wrong with this ViT?
+ It has no positions, or they aren't added. | Yes. Without them, attention treats the patches as a set.
- Its class token is read before the layers. | Then every picture would get the same answer, shuffled or not.
- Its patches are too small to show anything. | Small patches don't make a model blind to order.

[review_control: single]
A paper shows attention maps of a trained model that follow the outline of a dog. Which control would you ask for first?
+ The same maps from a model with random weights. | Yes. If they follow the outline, too, then the outline doesn't show that anything was learned.
- The same maps in a finer resolution. | They'd look better, and say no more about what was learned.
- The maps of more pictures of dogs. | They'd show that it wasn't one lucky picture, but a random model may do the same on all of them.

[review_gpt_parts: single]
You turn lesson 07's encoder layer into a layer of a GPT. What has to change?
+ It gets a causal mask, and nothing else. | Yes. A decoder layer without cross-attention is an encoder layer under a causal mask.
- It gets a cross-attention to the tokens before. | Self-attention under a mask already reads the tokens before. There's no second sequence to cross to.
- Its feed-forward network is taken out. | The feed-forward network stays. It holds two thirds of the parameters of GPT-3.

[review_gpt_layer: number]
A GPT layer of width 100, matrices only. How many parameters?
- 40000 | That is the attention alone. The feed-forward network has twice as many.
- 80000 | That is the feed-forward network alone. The attention has another 4d².
- 1200 | That is 12 · 100. The width has to be squared.
answer: 120000
why: 4d² in the attention and 8d² in the feed-forward network: 12 · 100².

[review_gpt_average: single]
Replace every attention of a GPT by the plain average of all positions so far. What is lost?
+ The choice of what to read: every earlier token counts the same. | Yes. The triangle is still there, so it could still be trained, and it predicts far worse.
- The causal order, so that it sees the future. | The average is taken over the past only, under the same triangle.
- The use of all positions in one pass. | One matrix product computes all averages at once.

[review_window_reach: number]
Each of three layers attends to the last 5 positions, the query's own included. How many positions back can the last output depend on?
- 15 | A window of 5 includes the query itself, so a layer gets 4 positions further.
- 125 | The distances add up from layer to layer. They don't multiply.
- 5 | That's one layer. The neighbours have attended to neighbours of their own.
answer: 12
why: Each layer gets 4 positions further: 3 · 4 = 12.

[review_exact_or_not: single]
Which of these computes exactly what ordinary attention computes?
+ Tiles with an online softmax. | Yes. All the sums are the same, only their order differs.
- A sliding window in each of many layers. | Information gets through, but by another way. The direct links are gone.
- Linear attention, because matrix products are associative. | The brackets can move only because the softmax was replaced by other weights.

[review_state_or_cache: single]
Two decoders have read 100,000 tokens. One uses linear attention, the other ordinary attention with a cache. What does each keep per layer and head?
+ One matrix of fixed size; a key and a value per token. | Yes. The matrix is a sum over all tokens, so it doesn't grow, and so it can't keep them apart.
- A key per token; a key and a value per token. | The keys and values of linear attention are added up in one matrix.
- Nothing at all; one matrix of fixed size. | A recurrent network needs its state, and a cache grows with the text.

[review_recall: single]
A search over 110 paragraphs has a recall at 5 of 99%. What does a reader that gets only the *first* paragraph found have to live with?
+ With recall at 1, which is lower and limits how often it can be right. | Yes. The 99% count questions whose paragraph is anywhere among the first five.
- With 1% of wrong paragraphs, as the number says. | That holds for somebody who reads all five. The right one can be the fifth.
- With nothing: a good reader finds the answer elsewhere. | It can only point at what is in the text that it got.

[review_two_ends: single]
A reader's best start is token 40 and its best end token 12. What is the answer?
+ The valid pair of start and end with the highest sum of logits. | Yes, whichever that is. It may share one of its ends with these two, or none.
- Tokens 12 to 40. | Token 12 looked like a good end, and nothing says it's a good start.
- None: the question has no answer in this text. | Whether there's an answer is decided by comparing the best valid span with [CLS].

[review_offsets: single]
Why does a reader's answer come from the text by offsets, and not from its tokens?
+ Tokens have lost capitals, accents and spaces. | Yes. No rule for gluing brings them back, and the text still has them.
- Because the reader makes up tokens that aren't in the text. | It only points at tokens, and all of them come from the text.
- Joining tokens is slow. | It's fast, and still gives the wrong characters.

[review_masked_training: single]
Why does BERT hide tokens in training, when GPT doesn't have to?
+ Each position can attend to every other one, so it would see the word it has to predict. | Yes. In GPT the causal mask hides the next token, and BERT has no causal mask.
- Because hiding tokens makes the model robust against spelling mistakes and missing words. | That may be a side effect. Without hiding anything there would be nothing to predict.
- Because its vocabulary is too small to contain every word. | Rare words are cut into pieces, as in GPT. That has nothing to do with [MASK].

[review_lora_parameters: number]
A matrix of 1,000 × 1,000 gets a LoRA correction of rank 4. How many parameters are trained?
- 4000 | There are two thin matrices, A and B.
- 1000000 | The matrix itself stays frozen.
answer: 8000
why: 4 × 1,000 for each of the two thin matrices.

[review_frozen_or_tuned: single]
You have 50 labelled texts. Why repeat the experiment with other draws of 50?
+ With so few, the accuracy depends a lot on which texts were drawn. | Yes. In lesson 12 the best and the worst of eight draws are several points apart.
- A second training on other texts makes the same model better. | Each draw trains a classifier of its own. Repeating measures the spread.
- The test set changes with each draw. | The test set stays the same.

[review_windows_on_both_sides: single]
Recordings are cut into windows, and windows are drawn at random for the test. Why is the test accuracy too high?
+ Most test windows have close relatives from the same recording in the training set. | Yes. The test asks in part whether the model has heard this recording before.
- The windows are shorter than the recordings, so each of them is easier to classify. | A short window is harder, because there's less to go by.
- A random draw makes rare classes rarer in the test. | On average it keeps their share.

[review_time_of_a_stroke: single]
In a classifier of drumming, each stroke is a token. What should its position be?
+ The step at which it sounds. | Yes. Rests have no token, so the place in the list doesn't tell the time.
- Its place in the list of strokes. | After a rest, that place lags behind the time.
- None, because the class token collects everything. | Without positions the encoder sees a bag of strokes, and lesson 17 measures what that costs.

[review_balanced_half: number]
Two classes, 90 examples of A and 10 of B. A model gets 81 of A right and 3 of B. What is its balanced accuracy, in percent?
- 84 | That's the plain accuracy, in which A counts nine times as much as B.
- 30 | That's the share for B alone.
answer: 60
why: 90% of A and 30% of B, and the mean of the two is 60%.

[review_chat_memory: single]
You tell an assistant your name. Ten messages later it still uses it. Where was the name kept?
+ In the prompt: each reply is generated from the whole chat. | Yes. That's also why a chat that outgrows the window loses its beginning.
- In the weights, which are adapted a little after each message. | The weights don't change while you chat.
- In the cache, which the model carries from chat to chat. | The cache only saves computing. Without it the same reply comes out, more slowly.

[review_masked_prompt: number]
A prompt of 20 tokens, then an answer of 8 tokens and an end token. The prompt is masked. How many predictions enter the loss?
- 8 | The end token is learned as well.
- 28 | These are all the predictions. The 19 inside the prompt are masked.
- 10 | The last position of the prompt predicts the first token of the answer, which is already among the nine.
answer: 9
why: The answer's eight tokens and the end token.

[review_dpo_reference: single]
In DPO the policy has just been copied from the reference. What's the loss of a pair, whatever the pair is?
+ log 2, because both gains are zero. | Yes: −log σ(0) = log 2. If the loss stays there, the reference is probably being trained too.
- 0, because nothing has been learned yet that could be wrong. | The sigmoid of 0 is one half, and −log of that isn't 0.
- It depends on which of the two answers is longer. | Both answers' log-probabilities cancel against the reference's.

[review_grouped_cache: number]
A model has 12 query heads and 4 key/value heads. How many times smaller is its cache than with 12 of each?
- 12 | That would be one head of keys for all of them.
- 1 | Queries aren't cached, but there are fewer key heads.
answer: 3
why: Only keys and values are cached, and there are a third as many of them.

[review_low_loss_wrong_part: single]
You rebuild a published model with one wrong part. Which of these tells you for certain?
+ Its logits, compared with the published ones number by number. | Yes. With a LayerNorm in place of an RMSNorm, loss and text looked fine.
- Its loss on a page, which would be near that of guessing. | Some wrong parts cost a tenth of a nat. You wouldn't notice.
- An error message, because the shapes can't fit. | All shapes fitted in every wrong model of lesson 19.

[review_wrong_examples_help: single]
Four examples with mixed-up answers stand in the input, and a model still does well. What did it take from them?
+ What the list is about, and the form of an answer. | Yes. For countries and capitals that's enough; for opposites it wasn't.
- The right answers, which it reordered. | The right answers to *other* questions don't help with this one.
- New weights for this task. | No weight changes while a model reads.

[review_head_off_control: single]
You silence five heads that a score has picked, and the loss doubles. What do you do next?
+ Silence five others and compare. | Yes. Otherwise you've shown that a model suffers when heads are missing.
- Report that the score finds the heads responsible. | Any five heads might have done it.
- Silence the five again, to be sure of the number. | The same change gives the same number.

[review_patch_place: single]
Vectors are exchanged between two runs, one at a time. At layer 15 only the country's vector changes the answer. What does that show?
+ At that depth, the difference between the two runs is still at the country's position. | Yes. Attention in a later layer has to bring it to the last word.
- Layer 15 knows the capitals. | The vector only passes through it. Any earlier layer may have made it what it is.
- The last word's vector is empty at layer 15. | It holds all that both runs have in common. Patching can't see that.

[review_sink_moves: single]
Most heads give much weight to the first token. You hide it from all others, and nothing much happens. Why?
+ The second token now sees only itself, and takes over. | Yes. Hide the first one from later tokens alone, and the loss rises by nats.
- The first token's weight was an artefact and did nothing. | It did a lot, which shows once no other token can do the same.
- The model has learned to ignore hidden tokens. | It was never trained with hidden tokens.
""")
