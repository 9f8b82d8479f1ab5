"""Questions of lesson 14, GPT."""

from helpers.exercises.written import predictions, questions

QUESTIONS = questions(r"""
[weight_of_the_last_letter: number]
At position 40, counted from 0, all letters so far are averaged. What share of the average does the last letter have?
- 0.0156 | That is 1/64, the share in a full window. At position 40 there are only 41 letters so far.
- 0.025 | That is 1/40. Counted from 0, position 40 is the 41st letter.
- 0.5 | That would be an average of two letters.
- 1 | Then the average would be the vector of the last letter, and no other letter would count.
answer: 0.0244
why: It is one of 41 letters, all with equal weight, so its share is 1/41.
tolerance: 0.02

[why_many_heads_here: single]
Four heads of width 16 have as many parameters as one head of width 64. What can the four do that the one can't?
- Use softer weights, since narrow heads have smaller scores. | The scores are divided by √K, so their spread doesn't depend on the width.
- Read four different parts of the embedding. | Each head reads the whole vector. Only what it computes from the vector is narrower.
- Look further back in the text. | All heads have the same mask.
+ Give four letters a large weight each, one per softmax. | Yes. In one softmax the four letters would have to share a total weight of 1, but here each has a softmax to itself.

[order_in_a_gpt_layer: order]
Put the steps of a GPT layer in order.
* layer norm
* causal self-attention
* add to the residual path
* layer norm of the sum
* feed-forward network
* add to the residual path again
why: GPT-2 is pre-norm: each sublayer reads a normalised copy of its input, and its result is added to the residual path.

[gpt3_by_pencil: number]
GPT-3 has 96 layers of width 12,288. How many billions of parameters is that, if you count only the matrices?
- 58 | That is the four attention matrices alone. Add the two matrices of the feed-forward network.
- 116 | That is the feed-forward networks alone. Add the four attention matrices of each layer.
- 1.8 | That is one layer. There are 96.
- 0.014 | That is 96 · 12 · 12,288. The width has to be squared.
answer: 173.9
why: The six matrices of a layer have 12d² numbers in total, so the 96 layers have 96 · 12 · 12,288² = 174 billion.
tolerance: 0.02

[when_the_window_is_full: single]
The story has 600 pieces, and the model was built for 512. What can it use to choose piece 601?
- All 600, since the cache holds their keys and values. | The cache only saves time. The model still can't use positions that it was never trained on.
+ What is in its window, at most the last 512. | Yes. Whatever has left the window is forgotten, a king's name included.
- The last piece only, since the cache was emptied. | When the cache is emptied, the model reads the window once more and fills it again.
- The first 512, because positions count from 0. | Then it wouldn't see what it has just written. The window moves along as the story grows.

[lessons_from_one_text: number]
A batch holds one window of 256 tokens, and each position's target is the token after it. How many predictions does the loss of a GPT average over?
- 1 | Every position predicts its own next token, and thanks to the mask all these predictions can be made at once.
- 32896 | That is the number of pairs of positions under the mask. Each position makes one prediction.
- 65536 | That is 256². Each position makes one prediction.
- 255 | The last position has a target too, the token that follows the window in the text.
answer: 256
why: There is one prediction per position, which is why a model can learn so much from a single pass over a text.

[compare_two_tokenizers: single]
Two models read the same text. Model A has a loss of 3.0 nats per token, and its tokens are 4 bytes long on average. Model B has 2.0 nats per token, with tokens of 2 bytes. Which model predicts the text better?
- B, because 2.0 is less than 3.0. | B needs twice as many tokens for the same text, and each of them adds to its loss.
+ A. | Yes: 0.75 nats per byte against 1.0. Only losses per byte of text can be compared.
- You can't tell without knowing how large the vocabularies are. | You don't need their sizes, because you can compare the total surprise over the same text.
- Neither is better. | A pays 3.0 / 4 = 0.75 nats per byte, B pays 2.0 / 2 = 1.0.

[did_it_copy: open]
The story model writes a sentence that you find beautiful. How could you find out whether the model made it up or learned it by heart?
answer: Search the training text for the sentence, and also for the longest part of the sentence that occurs there word for word. Here you can do that because the text is on your disk, which is rarely the case for large models. Some short stretches will occur in any case, so compare with a sentence that a person wrote in the same style, or with pages that the model was not trained on. A second sign is the loss. If it is far lower on this sentence than on others of its kind, the training text probably contained the sentence many times. Neither test shows that the model understood anything.
""")

PREDICTIONS = predictions(r"""
[what_an_average_knows]
Where does the model with the average end up?
- below: clearly below both yardsticks | It does read up to 64 letters. But a mean of 40 letters doesn't show which of them came last.
- between: clearly between the two yardsticks | The last letter is part of the mean, but its weight is only 1/(t + 1), so the others drown it out.
- frequencies: about where the letter frequencies are | Right. An average over many letters is nearly the same at every position, so there's little to learn from it.
ask_why: yes
recall: weight_of_the_last_letter

[four_narrow_heads]
What happens to the loss with four heads of width 16 instead of one of width 64?
- worse: it rises, because each head is too narrow to tell 50 letters apart | Sixteen numbers are enough for what one head has to pass on, and there are four heads.
- same: it stays the same, because the number of parameters does | There are as many parameters as before, but they now feed four softmaxes instead of one.
- better: it falls, because each head has a softmax of its own | Right. With four softmaxes, the letter just read and the ones before it no longer compete for the same weight.
recall: why_many_heads_here

[parts_or_depth]
Which of the two steps lowers the loss more: from four heads to one whole layer, or from one layer to three?
- parts: to one whole layer: the residual path and the feed-forward network | People who talk about GPTs mostly talk about depth. On our ladder, though, going from heads to one whole layer made the larger difference.
- depth: to three layers, which have three times the parameters | Depth helps, since one layer can build on what the layer below it has collected.
- equal: both by about the same amount | Both steps lower the loss, and the figure shows by how much.
ask_why: yes
recall: order_in_a_gpt_layer

[which_task_it_learned]
Twenty questions are about grammar (*his or her*, *one or many*) and twenty about meaning (*who is who*, *good or bad*). Guessing would be right about ten times on each. How does the story model do?
- grammar: it's clearly better at grammar, by at least five | Agreement matters in nearly every sentence of the text, so learning it lowers the loss most. Who speaks or who is wicked matters for far fewer pieces.
- meaning: it's clearly better at meaning, by at least five | Fairy tales are full of foxes that eat geese, so the model has read such scenes. But they help with far fewer pieces than grammar does.
- equal: it's about as good at both, within four answers | Both kinds do turn up in the training text, and neither was ever a task of its own. But grammar matters in far more sentences.
ask_why: yes

[without_the_copying_heads]
What happens to the loss in the repetition when these heads are switched off?
- all: it rises most of the way to the loss of the first passage | Yes. No other head has learned to do the same work in another way. Without these heads the model can even do worse than on a first passage, because it's sure of the wrong tokens.
- some: it rises, but the model still copies rather well | Then other heads would have to do some of the work, as in lesson 06.
- nothing: it hardly changes, because other heads stand in | In lesson 06, other heads did stand in for those that we silenced in the translator. This model is far smaller, though, and has a single task.

[with_or_without_a_floor]
Both laws were fitted to the five smaller sizes. Which one predicts the loss of the largest size better?
- straight: the one without a floor, because a straight line has less to get wrong | It has two numbers to fit instead of three. But the points already bend away from it at the smaller sizes, so it promises too much.
- floor: the one with a floor, because the loss can't keep falling at the same rate | Right. The five sizes already show that each further step gains less, and a straight line can't follow that.
- equal: both about equally well, because the sizes lie so close together | The sizes do lie close together. But the bend of the points is larger than the difference between seeds, so the two laws soon drift apart.

[what_the_detective_forgets]
The adapter has made the model better at predicting Holmes. What has it done to the fairy tales?
- nothing: they cost as many bits as before, because the model's own matrices are frozen | LoRA doesn't change the matrices, but the adapter is added to each of them, whatever the text is.
- less: they cost more bits than before, but even more bits are saved on Holmes | Much of what the adapter has learned, such as how people talk to each other, must fit both books.
- more: they cost more bits than before, and fewer bits are saved on Holmes | The fairy tales were what the model knew best, so they had the most to lose.
""")
