"""Questions of lesson 18, from GPT to assistant."""

from helpers.exercises.written import predictions, questions

QUESTIONS = questions(r"""
[no_end_in_training: single]
Somebody trains an assistant on pairs of a prompt and an answer, but forgets to append the end token to the answers. How does the assistant behave?
- It stops after the usual length of an answer, because it has seen how long answers are. | Generation stops only at the end token, and the model gives that token hardly any probability.
+ It answers, and then it keeps writing. | Yes. Nothing in its training said what comes after the last word of an answer, so it goes back to continuing text.
- It doesn't answer at all. | The tokens of the answers were learned as usual. Only the token that should follow them is missing.
- It writes the end token at once. | That would happen if the end token came before the answers. Here it doesn't come at all.

[how_many_targets: number]
A prompt of 12 tokens ends with the token that opens the reply. The answer has 5 tokens, and the end token follows. With the loss masked on the prompt, how many predictions enter the loss?
- 5 | The end token is learned too, so that the model knows when to stop.
- 17 | That's all the predictions, including the 11 inside the prompt.
- 7 | That counts one prediction of a prompt token. The last token of the prompt predicts the first token of the answer, which makes 6 in all.
- 18 | There are 18 tokens in all, and 11 of their 17 predictions are masked.
answer: 6
why: These are the five tokens of the answer and the end token. The first of the six is predicted at the last position of the prompt.

[dpo_by_pencil: number]
Before training, the better and the worse answer had a probability of 0.2 each. Now they have 0.4 and 0.1, and β = 1. How large is the DPO loss of this pair? (Two decimals.)
- 0.8 | That is σ(margin). The loss is −log of it.
- 1.39 | That is the margin, log 4. Put it through −log σ.
- 0.69 | That is −log σ(0), the loss of a pair whose margin hasn't changed.
- 1.61 | That is −log 0.2, the loss with the two answers swapped.
answer: 0.2231
why: The gains are log 2 and −log 2, so the margin is log 4. σ(log 4) = 4/5, and −log 0.8 = 0.22.
tolerance: 0.03

[why_a_reference: single]
What would happen without the reference in DPO, that is, if the margin were just the policy's log p(better) − log p(worse)?
- The loss couldn't be computed, because it needs four numbers. | It could. Two of the four would be zero.
- The model would learn the preference more slowly, but end up in the same place. | It would end up somewhere else. Without a reference, nothing says where the model started.
+ The model would be paid for a gap that may have been there all along. | Yes. A short answer, for instance, is likelier than a long one before any training. The reference subtracts what was there already, so only a change counts.
- Each answer would need a score from a reward model. | No reward model is needed in either case. The pair itself says which answer is better.

[stuck_at_log_two: single]
During DPO the loss is 0.693 at every step, although the model writes stranger answers every time you look. What do you suspect first?
+ The reference is being trained too. | Yes. If both are the same model, all gains are zero, and −log σ(0) = log 2 = 0.693, whatever the model does.
- The learning rate is too small to move the model away from where it started. | Then the answers wouldn't change either.
- The better and the worse answers are swapped. | Then the loss would still fall, while the model learned the wrong preference.
- β is too large. | A large β makes the loss change faster with the margin. Here the margin doesn't change at all.

[paid_by_length: single]
A team rewards its assistant with thumbs up from users, and after some weeks all answers begin with a compliment. What has happened?
- The model has found out that users like compliments, and wants to be liked. | It doesn't want anything. Whatever earned a thumbs up became likelier in training, and compliments did.
- The learning rate was too high, so the model forgot how to answer. | Forgetting makes answers worse in every way. This change has one direction, and the reward explains it.
- The model has drifted because the penalty on the KL was too strong. | A strong penalty keeps the model near its start. Here the penalty, if there was one, was too weak for this reward.
+ The reward measured only something close to what was wanted. | Yes. A thumbs up isn't the same as a good answer. With enough training, the gap between the two is what gets optimised.

[votes_by_pencil: number]
Each sample is right with probability 0.6, independently of the others, and all wrong samples agree on one wrong number. How often is the majority of three samples right, in percent?
- 60 | That's the chance for a single sample. Two or three of the three have to be right.
- 94 | That is the chance that at least one of them is right, 1 − 0.4³. Only a perfect checker would get that far.
- 22 | That is all three being right, 0.6³. Two are enough.
answer: 64.8
why: All three are right with probability 0.6³ = 0.216, and exactly two with probability 3 · 0.6² · 0.4 = 0.432. Together that's 0.648.
tolerance: 0.012

[when_voting_hurts: single]
For one question, a model writes the right number in 30% of its samples and one wrong number in 50%. What does voting among more and more samples do for this question?
- It slowly brings the accuracy up to 100%, since errors cancel out. | Errors cancel only if they disagree with each other. These agree.
+ It makes the answer wrong with near certainty. | Yes. The vote goes to the most frequent answer, and that is the wrong one. A checker would still find the right one among the samples.
- It leaves the accuracy at 30%. | A single sample is right 30% of the time. A vote among many samples nearly always goes to the number with 50%.

[who_runs_the_tool: single]
An assistant uses a calculator. Who calculates?
- The model, with weights that were trained to multiply. | Its weights only have to produce the text of the call.
- The tokenizer, which replaces the call with its result. | The tokenizer only translates between text and ids.
+ The program around the model, which looks for a call in the text. | Yes. It runs the function and appends the result, and the model reads on.
- The attention heads between the call and its result, because they copy digits. | Heads help to write the result down afterwards. The number itself comes from outside.

[your_own_reward: open]
You want an assistant that explains this course well, and you can afford one automatic reward. Suggest one, and describe how a model could score high on it and still be useless.
answer: An example: the reward is the share of quiz questions that a second model answers correctly after reading the explanation. A policy could put the answers to likely quiz questions into every text, without explaining anything, or write in a way that only that second model can follow. Other rewards have other gaps: similarity to a model answer rewards copying its words, length rewards padding, thumbs up reward flattery. Three things help in practice. Keep the policy near its start, so that it can't exploit the gap very far. Measure something that you don't train on, and stop when the two measures move apart. And read samples yourself, because a number doesn't say how it was reached.
""")

PREDICTIONS = predictions(r"""
[most_harmful_template]
Three of the four wrong forms keep some of the template's tokens. With which of these three does the assistant follow the fewest instructions?
- no end token: the end token after the user's message is missing | The token that opens the reply is still there, so the model knows whose turn it is.
- the reply isn't opened: the prompt stops after the user's end token | Then the model has to open the reply itself. It never learned to do that, because in training the token that opens a reply was always part of the prompt.
- the roles swapped: the message is marked as the assistant's and the reply as the user's | All three tokens are there, but two of them have been swapped. In training, the reply always came after the assistant's token, and here it comes after the user's.
ask_why: yes
recall: no_end_in_training

[form_or_content]
After these few steps, how do the replies to the 48 unseen instructions look?
- form: most of them end where they should, and few are right | The form is the same in hundreds of examples, but the right answer is different every time.
- both: most of them end where they should, and most are right | Before these steps, the student had read seven megabytes of stories but never a question that it had to answer. A few steps aren't enough to learn how to answer.
- content: most of them don't end, and most are right | It's the other way round. The end token is the same in every example, but what comes before it is new each time.
- neither: most of them don't end, and few are right | The end token comes once in every example, always right after the answer, so it's among the first things learned.
ask_why: yes
recall: how_many_targets

[which_way_to_better_sums]
Rejection sampling and GRPO work on the same sums, and each gets the same number of tries. After training, whose model is right more often on unseen sums, with one sample per sum?
- rejection: rejection sampling's, because it imitates nothing but right answers | It does, so no wrong answer misleads it. But it learns nothing from the wrong answers, and as much from an easy sum as from a hard one.
- grpo: GRPO's, because it learns from the wrong answers as well | They do say what to avoid. But here more than half of the answers are right, so imitation has plenty to learn from, too.
- equal: neither's, because both see the same answers and the same rule | They do. More than half of the answers are right from the start, so there is enough to imitate, and the wrong ones add little.
ask_why: yes
recall: when_voting_hurts

[paid_for_mentioning]
The new rule pays if the right sum occurs in the answer. What do the answers look like after the training?
- same: about as before, because writing the right sum is still the surest way to be paid | It isn't the surest way. The adder has seen answers that correct themselves, so it can write a second number, which can only help under this rule.
- list: longer than before, because nothing in the rule makes a token cost anything | They have become lists of numbers. Each comma buys another try. The adder has met corrections in its training, so the first lists come about by chance. Then the rule rewards them.
- short: shorter than before, because whatever comes after the right sum earns nothing more | It costs nothing, either. And where the first number is wrong, a second one may still be paid for.
ask_why: yes
recall: paid_by_length

[with_the_text]
BM25 finds a text, and we put it in front of the question. How many of the 100 answers are right?
too_low: The name of the village is in the question, so BM25 has an easy task, and the assistant was trained on texts of this form.
too_high: Finding the text isn't enough. The assistant also has to pick the right one of several names and copy it piece by piece, although it has never seen that name before.
unit: %
recall: who_runs_the_tool

[still_a_storyteller]
By what percentage do the bits per byte on fairy tales rise after instruction tuning? (A negative number means they fall.)
too_low: A tenth of the parameters is enough to change all of the model's output, and no training example looked like a page of a book.
too_high: The adapters only had to change what happens after the template's tokens, and these tokens don't occur here.
unit: %
slider: no
low: -50
high: 300
close: 0.3
recall: compare_two_tokenizers
""")
