"""Questions of lesson 19, a real model."""

from helpers.exercises.written import predictions, questions

QUESTIONS = questions(r"""
[what_is_cached_today: number]
A model has 30 layers, 9 query heads and 3 heads of keys and values, each 64 wide. How many numbers does its cache hold per token?
- 34560 | That would be nine heads of keys and nine of values. Only three of each are kept.
- 5760 | That's the keys alone. The values are cached, too.
- 384 | That's one layer, and there are 30.
- 17280 | Queries aren't cached, because a position's query is used once and never again.
answer: 11520
why: 30 layers times 3 heads times 64 numbers, for keys and once more for values.

[bits_of_a_block: number]
A block holds 32 weights of 4 bits, a scale and a minimum of 16 bits each. How many bits per weight is that?
- 4 | The scale and the minimum need room as well.
- 4.5 | That counts only the scale. The minimum takes 16 bits, too.
- 36 | You added all 32 bits of scale and minimum to each weight, but 32 weights share them.
answer: 5
why: 32 · 4 + 16 + 16 = 160 bits for 32 weights.

[what_low_loss_proves: single]
You have rebuilt a published model, and its loss on a page is 2.8 nats. What do you check next?
- Nothing, because garbage would have a loss near log V. | A model with LayerNorm in place of RMSNorm had a loss like that, too, and it was wrong.
+ Its logits against those of the published code, number by number. | Yes. A small mistake hardly shows in the loss, but it always shows in the logits.
- Its loss on a longer page, which is measured more exactly. | The wrong model would have a slightly higher loss there as well, and you don't know which loss is right.
- Whether it writes fluent sentences. | The model without positions was fluent, too, for a few words.

[why_a_template: single]
Why does a chat model answer worse if the template is left out?
- Because the template contains instructions on how to answer. | It contains roles and marks, and a sentence with the model's name. How to answer was learned in fine-tuning.
- Because the model can't read plain text any more. | It can. In section 6 it continues plain text.
+ Because it was fine-tuned on texts in which an answer follows these marks. | Yes. Without the marks, the text doesn't look like those in which an answer came next.
- Because the marks make the prompt longer. | Making it longer with other tokens wouldn't help.

[what_sets_the_pace: single]
A model of 538 MB writes 30 tokens a second on your machine. Now its weights are stored in 16 bits instead of 32, and nothing else changes. What pace can you hope for?
- 30 a second, because it does as many multiplications as before. | The multiplications aren't what takes the time. Reading the weights is.
+ Up to 60 a second, because half as many bytes are read per token. | Yes. Every weight is read once per token and used for one multiplication.
- Up to 900 a second, because the time grows with the square of the bits. | Half the bytes take half the time to read.
- Fewer than 30, because 16-bit floats are less exact. | They are less exact, which raises the loss a little but takes no time.

[what_rms_norm_leaves_out: multiple]
Which of these does an RMSNorm do? Tick all that apply.
+ divide each vector by a number of its own | Yes, by its root mean square.
- subtract each vector's mean | That's what LayerNorm does first.
+ multiply each feature by a learned gain | Yes, as LayerNorm does.
- add a learned bias | It has none. LayerNorm has one.

[is_the_benchmark_clean: open]
A small model gets 60% of a well-known list of questions right. Name two reasons why it may do worse on questions of your own, and how you'd find out.
answer: The questions or their answers may have been in the training text, which is taken from the web. Then the score measures memory. If the text is public, search it for them. If not, reword the questions, or ask about things that were published after the text was collected. The form may differ as well: a list of choices, a certain prompt, examples in the input. Write your own fifty questions in the form in which people will ask, keep them off the web, and compare with a trivial answer, for instance always the first choice.
""")

PREDICTIONS = predictions(r"""
[todays_weights_in_yesterdays_parts]
Where will the loss of this model be?
- below: clearly below 10.8 nats | The matrices are trained, but the wrong parts change what reaches them, and over 30 layers these changes add up.
- about: near 10.8 nats | A model that spreads its probability evenly would be there. This model is sure of the wrong tokens.
- above: clearly above 10.8 nats | Right. To do worse than somebody who guesses at random, a model has to be sure of wrong tokens.
explain: The trained weights expect inputs of a certain kind. Given inputs of another kind, they still produce sharp distributions.

[which_part_costs_more]
Two parts still differ from SmolLM's. Which of them costs more, measured in nats per token?
- rotary: the missing positions | Right. Without positions, a query can't tell the nearest word from a distant one.
- norm: the LayerNorm instead of an RMSNorm | There are 61 such norms, but all that each one does wrong is to subtract a vector's mean, which is small here.
- equal: both about the same | Without positions, the model loses the order of the words. With a LayerNorm, each vector of 576 numbers loses no more than its mean.
explain: The mean that LayerNorm subtracts is close to zero here. The order of the words matters far more, and without the rotation only the causal mask says anything about it.
recall: what_low_loss_proves

[without_the_template]
Now we leave out the template and give the model the question as plain text to continue. What does it write?
- answer: the answer, as it did with the template | It knows the answer. But nothing in a plain text says that one is wanted.
- more: more questions of this kind | A model that has only read web pages might do that. This one has been fine-tuned since.
- nothing: nothing, it stops at once | Right. The model was fine-tuned on conversations, in which a request like this one usually was the user's whole message.
explain: After this question, the likeliest next token is the one that closes a message. After other questions it can be a line break.
recall: why_a_template

[four_examples]
After four such examples, how many of 24 capitals does the model get right? (Mean of three draws of the examples.)
explain: No weight changes. The examples only make clear which continuation is wanted.
too_low: Four examples say clearly what is asked, and the model has read about all of these countries.
too_high: It's a small model, and four lines don't say much about a task.
low: 0
high: 24
slider: yes
close: 0.12

[wrong_examples]
Now we mix up the answers in the examples. In which of the two tasks does that do more harm?
- antonyms: with the opposites | Right. Between any two words there are many relations, and only the right answers say which is meant.
- capitals: with the capitals | A country and any capital already say what the list is about.
- equal: with both equally | The lines look alike, but mixed-up capitals still say what the list is about, and mixed-up opposites don't.
explain: A list of countries and capitals shows its subject even if they're mixed up. A list of words and wrong opposites looks like a list of unrelated words.
""")
