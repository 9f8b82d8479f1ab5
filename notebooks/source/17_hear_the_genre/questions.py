"""Questions and predictions of lesson 17, hear the genre."""

from helpers.exercises.written import predictions, questions

QUESTIONS = questions(r"""
[tokens_of_a_drummer: number]
There are nine voices and eight levels of loudness, and each stroke is early, on time or late. If a token names all three, how many tokens are there?
- 20 | That's 9 + 8 + 3. Every combination needs a token of its own.
- 72 | That's 9 × 8. The three kinds of timing multiply it by three.
- 24 | That's 8 × 3. Each of the nine voices has all of these.
answer: 216
why: 9 × 8 × 3 = 216. With four levels and no timing there are only 36, each of which is seen more often. That's why finer tokens need more data.

[place_or_time: single]
Why does a stroke get the vector of its step, and not of its place in the list of strokes?
- Because the list of strokes isn't sorted by time. | It's sorted. But the fifth stroke can sound on the second beat or on the fourth.
- Because a window can have more strokes than there are steps to give them. | A table of places could be made long enough. The question is what each of its rows would mean.
+ Because a rest takes time and has no token. | Yes. After a rest, the place in the list lags behind the time. In a sentence there are no rests, so the place is all you need.
- Because attention needs positions that start again in every bar. | Attention has no such need. The table has a row for each of the 32 steps of both bars.

[speech_of_forty_people: single]
You have 300 hours of speech by 40 people, cut into sentences. The product will be used by strangers. What do you draw at random for the test?
- Sentences, because that gives the largest and most varied test. | Then the model has been trained on every voice in the test, which won't be so with strangers.
+ People, each with all of their sentences. | Yes. The users' voices will be new to the model, so the voices in the test should be, too.
- Recordings, so that no session is on both sides. | That closes one leak. But the same people still speak on both sides, and the users will be other people.
- Hours, with the first 270 for training and the last 30 for testing. | Unless all of the later speakers are new, the last hours have the same voices.

[what_a_leak_does: multiple]
Windows of one performance are on both sides of a split. Which of these follow?
+ The test accuracy is higher than on new performances. | True: part of the test comes from performances that the model has already heard.
- The model is worse than one trained on a clean split. | Not so. It's trained on about as much data, and the model can be just as good. What's wrong is the number that we report.
+ A model that remembers performances looks better than it should. | True. Even a comparison of two models can come out wrong because of it.
- With more data, the leak goes away by itself. | Not if there are more windows of the same performances. Then every test window has even closer relatives.

[best_of_ten_epochs: single]
You measure the test accuracy after each of ten epochs, and report the best. What's wrong?
+ The test chose the epoch, so its best value is too high on average. | Yes. It's a small leak. Choose the epoch on a third set, of other performances, and use the test once.
- Ten epochs are too few, so the model is probably still undertrained at its best. | Perhaps, but that would make the value too low, and you could see it in the curve.
- Nothing, as long as the test performances weren't trained on. | They weren't, and yet your choice depends on them, because you took the highest of ten noisy values.
- Accuracy is the wrong measure. The loss should have been compared. | The loss has the same problem, because it was measured on the test, too.

[a_tie_with_the_baseline: single]
On three splits of other data, your encoder's accuracy is 0.68, 0.74 and 0.66, and a linear model's 0.66, 0.71 and 0.67. What can you report?
- The encoder wins, because its mean is higher by more than a point. | The mean is higher by 1.3 points, but from split to split the encoder's accuracy differs by up to eight. On one of the three the linear model is ahead.
- Nothing, because three splits don't suffice for any conclusion at all. | They show that the two are close, and how much the split matters. That's worth reporting.
+ The encoder is ahead on average, but by less than the splits differ. | Yes. Report all six numbers and this plain conclusion. More splits would tell us more.
- The encoder's 0.74, because it's the best of all six. | The best of several runs says more about luck than about the model.

[other_leaks: open]
A model should recognise a disease in X-ray pictures. Name two ways in which something could leak from the training into the test, although no picture is in both.
answer: Several pictures of one patient could be on both sides. So could pictures from one hospital or machine, which may share a mark, a frame or a level of brightness that goes along with the diagnosis. If the sick patients come from one source and the healthy people from another, the source gives the answer away. You might also choose the epoch, the model's size or the preprocessing on the test, or scale the pictures with a mean that was computed over all of them. Each time, ask in what way the pictures in real use will be new, and make the test new in that way.

[your_own_tokens: open]
Tempo isn't in our tokens, although jazz is often fast. How would you give it to the model, and why could that make the leak larger?
answer: You could add one more token after the class token that names a range of tempos. Or a linear layer could turn the tempo into a vector, which is added to the class token. In a split by windows, the exact tempo almost gives the performance away, because all windows of a performance share it and few other performances have the same. The model could simply remember that 117 beats a minute is latin. Coarse ranges and a split by performance keep it from doing so.
""")

PREDICTIONS = predictions(r"""
[which_is_funk]
Four pieces by the same drummer, at the same tempo. Each is from a different genre. Which one is funk?
- 1: the first | That's jazz. In the second bar, the ride cymbal keeps the time and the bass drum stays in the background.
- 2: the second | Right. Soft strokes on the snare fill the gaps between the loud ones.
- 3: the third | That's rock, with a roll on the snare in the first bar.
- 4: the fourth | That's latin. The hi-hat plays throughout, and most strokes on the bass drum are off the beat.
explain: Two bars aren't much to go by, for you or for the model.
ask_why: yes

[strokes_in_another_order]
In every window we shuffle the list of strokes. Each token keeps its own step. What happens to the model's logits?
- same: nothing, up to rounding | Right. The step says when a stroke sounds, and attention sums over strokes in any order.
- some: they change, and a few answers with them | Nothing in the model depends on a stroke's place in the list.
- chance: they change so much that the answers are no better than guessing | That would happen if the *steps* were shuffled. Nothing in the model uses the order of the list.
recall: place_or_time

[seen_before]
We drew a quarter of the windows at random for the test. For what percentage of them does the *training* set have other windows of the same performance?
too_low: A performance has dozens of windows on average, and three quarters of all windows are trained on. Only a very short performance is likely to have none of its windows in the training set.
too_high: A few performances are so short that all of their windows are in the test.
unit: %
close: 0.05
ask_why: yes
recall: speech_of_forty_people

[without_the_leak]
Now the same model is trained on three quarters of the performances and tested on the rest. What accuracy do you expect, in percent?
too_low: The accuracy falls, but stays far above guessing, because pieces of one genre have something in common even across performances.
too_high: Part of what the model knew was how individual performances sound, and that's of no use now.
unit: %
close: 0.05
recall: what_a_leak_does

[encoder_or_linear]
The linear model reads 288 numbers per window, the encoder about 40 tokens. On the one split above, the encoder was ahead by several points. Which of the two is more accurate on average over three such splits?
- linear: the linear model, by more than two points | It has nearly the same information as our tokens. It can't combine two strokes, but with only a few hundred performances, its simplicity could have been an advantage.
- tie: neither, they are within two points | A linear model is hard to beat on so few performances, so this was a reasonable guess. But the encoder is ahead on all three splits, although by very different amounts.
- encoder: the encoder, by more than two points | It can combine strokes, which a linear model can't. Whether that explains its lead is another question.
ask_why: yes
recall: a_tie_with_the_baseline

[tokens_without]
We take one thing out of the tokens and train again, three times each. What costs the most accuracy?
- loudness: the loudness: one level instead of four | Soft strokes between loud ones are typical of funk and jazz, so this was a reasonable guess.
- voice: the voice: all nine drums sound the same | Which drum is struck says much about a genre. Jazz, for instance, is often played on the ride.
- time: the time: no steps | Without steps, the model gets only what was struck, how loudly and how often.
ask_why: yes
recall: place_or_time

[drummers_never_heard]
A split by performance still has the same ten drummers on both sides. Now we train on some drummers and test on others. How does the encoder's accuracy change, compared with the split by performance?
- same: it stays within three points | A drummer has habits, and each drummer here plays mostly one or two genres.
- falls: it falls by 3 to 15 points | Part of what helped was knowing the drummer, or the mix of genres that each drummer plays.
- collapses: it falls by more than 15 points | If a drummer plays mostly one genre, recognising the drummer is enough. With strangers, that's of no use.
recall: speech_of_forty_people
""")
