"""Predictions of page 95, what changed since 2017."""

from helpers.exercises.written import predictions

PREDICTIONS = predictions(r"""
[most_helpful_change]
Each model has one change. All have the same number of parameters and the same time to train. Which of these four changes lowers the bits per byte most?
- RMSNorm: RMSNorm in place of LayerNorm | It computes nearly the same as LayerNorm. People use it because it can save time, but on our CPU it doesn't even do that.
- SwiGLU: SwiGLU in place of ReLU, with a narrower hidden layer | Shazeer found a gain of 2.4% after far longer training. Here a step with SwiGLU takes longer, so in equal time the model trains for fewer steps.
- rotary positions: rotary positions in place of a table | Yes. A table has to learn separately for each position what it means to be one token apart. With rotation, the distance is in the scores from the first step on.
- untied output: a matrix of its own for the output | It helps, because the embedding no longer has to serve two purposes. But the table of positions holds this small model back more.
ask_why: yes

[changes_that_help]
All seven changes are common today. How many of them, each made on its own, beat the 2017 block in equal time with all three seeds?
too_low: Changing the positions or the output makes a difference even with two layers and 250 steps.
too_high: Most of them were introduced to train deep models, to save memory or to run faster on other processors. A small model needs none of that.
unit: changes
low: 0
high: 7
close: 0
ask_why: yes

[norm_and_depth]
With 24 layers and without warm-up, how far do the pre-norm and the post-norm model get in 300 steps?
- post: pre-norm learns, and post-norm knows little but the letters' frequencies | In post-norm every layer normalises the residual path itself, so the signal has to get through 48 norms on its way. In pre-norm the path stays free.
- both: both learn, and they end about as far as the models with two layers | That's what the residual path is for, and in pre-norm it works. In post-norm, the signal on that path has to pass every norm.
- neither: neither learns, and both know little but the letters' frequencies | Three hundred steps are few, but two layers learn in that time, and with one of the two norms 24 layers do, too.
ask_why: yes

[cache_of_today]
After 100 tokens, how large is the cache of today's model, as a percentage of the 2017 model's?
too_low: Keys and values shrink by the same factor, because both lose heads. Did you apply that factor twice, once for each?
too_high: The queries aren't in the cache, because each of them is used only once. Everything that is in the cache has shrunk.
unit: %
step: 5
close: 0.02

[do_experts_collapse]
Without the importance loss, how are the eight experts used after training? (An even share is 12.5%.)
- collapse: one or two experts get nearly everything | People fear this, because it has happened in large models. Here the clusters are easy to tell apart.
- uneven: unevenly, some at twice their share and some barely used | An expert that starts well gets more tokens and improves faster, but eight different tasks keep most of them busy.
- even: evenly, because every cluster finds its own expert | Nothing keeps two clusters from choosing the same expert.
ask_why: yes

[four_bits]
We round every entry of the story model's matrices to 4 bits, which leaves only whole numbers from −7 to 7, each multiplied by the scale of its row. By what percentage do the model's bits per byte rise?
too_low: With only fifteen values per weight, the rounding does leave a trace.
too_high: Each weight is off by a few percent of the row's largest weight, but some are too large and others too small. In a sum over hundreds of products, most of that cancels out.
unit: %
high: 50
close: 0.04
ask_why: yes

[guesses_accepted]
When tokens are drawn at a temperature of 0.8, what share of the draft's guesses does the model accept?
too_low: Many tokens are nearly certain, such as the word after *once upon a*, and even this draft guesses those.
too_high: The draft looks at two or three tokens, and even a perfect draft couldn't guess which of several likely words gets drawn.
unit: %
close: 0.08
""")
