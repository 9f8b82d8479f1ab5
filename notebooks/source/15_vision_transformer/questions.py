"""Questions and predictions of lesson 15, the Vision Transformer."""

from helpers.exercises.written import predictions, questions

QUESTIONS = questions(r"""
[tokens_of_a_picture: number]
Pictures of 96 × 96 pixels are cut into patches of 8 × 8, and there's one class token. How many tokens enter the first layer?
- 144 | Those are the patches: 12 per side, 144 in all. The class token adds one more.
- 13 | That's 12 patches along one side, plus one. The grid has 12 × 12.
- 9217 | That would be one token per pixel, plus one.
- 65 | That's the pixels of one patch, plus one.
answer: 145
why: 96 / 8 = 12 patches per side, 12 × 12 = 144 patches, and the class token makes 145.

[convolution_as_patches: single]
You cut a picture into patches of side P and project each to width D. Which convolution computes this in one step?
- Kernel 3, stride 1, D output channels. | Such windows overlap, and each sees 3 × 3 pixels. Patches don't overlap.
+ Kernel P, stride P, D output channels. | Yes. Each window is one patch, and each output channel is one column of the linear layer.
- Kernel P, stride 1, P output channels. | With stride 1 the windows overlap, and the width of a token is D, not P.
- Kernel 1, stride P, D output channels. | A kernel of 1 looks at one pixel per patch and ignores all others.

[what_the_class_token_holds: single]
What does the class token hold before the first layer?
- The average of all patches. | Averaging is another way to arrive at one vector, but this model doesn't do it.
- The first patch of the picture. | The first patch is the token after it.
+ The same learned vector for every picture. | Yes. Everything it holds about the picture at the end came in through attention.
- The label, while the model is trained. | The label is compared with the output. As an input it would give the answer away.

[patches_in_another_order: single]
A ViT *without* positions gets the same patches in another order. What happens?
+ Each patch keeps its output vector, and the class stays the same. | Yes. Attention compares contents, so every output vector moves along with its patch, and the class token still receives the same mixture.
- The class changes, since the picture has become a different one. | To us it has. But nothing that the model computes depends on the order.
- All vectors change a little, and the class usually stays. | They don't change at all, up to rounding. A sum doesn't depend on the order of its terms.
- It raises an error. | The shapes are the same, so everything runs.

[five_hundred_leaves: single]
You have 500 labelled photos of leaves, twelve species, and an afternoon. What would you try first?
- A ViT-Base from scratch, for as many epochs as time allows. | That's 86 million numbers to learn from 500 photos. With so little data, a ViT from scratch falls behind even a small CNN.
- A ViT from scratch, but with very small patches. | Smaller patches make it more expensive. What's missing is data, or something learned from other data.
- Self-attention without positions, to save parameters. | The table of positions is tiny, and without it the model can't tell where a patch was.
+ A model pretrained on many other photos, fine-tuned. | Yes. What a pretrained model has learned about edges, textures and shapes replaces the data that you don't have.

[what_rollout_shows: multiple]
In the rollout of the class token, the sleeves get the largest weights. What do you know?
+ Over all layers together, the class token attends more to the sleeves than to any other part of the picture. | True: that is what the product of the maps adds up.
- The model decided because of the sleeves. | Not shown. Values, feed-forward networks and norms aren't in the rollout. Hide the sleeves and see.
- The model has learned what sleeves are. | Not shown. Random weights can draw the outline of a garment, too, because bright patches differ from black ones.
+ It's worth hiding the sleeves, to see if the answer changes. | True: a map is a hypothesis, and an intervention tests it.

[why_not_pixels: open]
Why does a ViT cut a picture of 224 × 224 pixels into patches rather than single pixels? Say what single pixels would cost.
answer: 224 × 224 is 50,176 tokens, so one attention map has 50,176² or 2.5 billion weights per head and layer. With patches of 16 it's 196 tokens and about 38,000 weights, 65,000 times fewer. A single pixel also tells the model next to nothing, so the first layers would have to find out which pixels belong together. In a patch the pixels are grouped already. The price is that everything inside it goes through one linear layer.

[which_assumptions: open]
A CNN assumes that neighbouring pixels belong together, and that a pattern means the same wherever it is. Which part of a ViT assumes something similar, and what does it have to learn instead?
answer: Cutting into patches assumes that the pixels of a patch belong together, and the same projection for every patch assumes that a pattern means the same everywhere. Beyond the patch nothing is assumed. The table of positions has to learn which patches are neighbours, and the heads have to learn that nearby patches matter more. That takes data, but with enough of it this freedom can pay off.
""")

PREDICTIONS = predictions(r"""
[shuffled_patches]
All 1,000 test pictures are shuffled in the same random order. For what percentage of them does the model still name the right class?
too_low: Much of a picture survives the shuffling: how bright it is, how many patches are black, which textures there are. None of that depends on the order.
too_high: The order matters more than that. Section 3 shows what tells the model where a patch was.
unit: %
close: 0.08
ask_why: yes
recall: patches_in_another_order

[no_positions]
We set the trained model's table of positions to zero and leave the pictures in order. For what percentage of the 1,000 pictures does it now name the right class?
too_low: The contents of the patches are still there, and they are enough to recognise some classes.
too_high: The other weights were trained together with the table, so they depend on it.
unit: %
close: 0.08
recall: patches_in_another_order

[vit_or_cnn]
The two models are about equally large, and both see the same 1,500 augmented pictures once. Which is better on the 1,000 test pictures?
- vit: the ViT | Attention sees the whole picture from the first layer on. But it has to learn from 1,500 pictures what the convolution assumes from the start.
- cnn: the CNN | Right. It assumes from the start that neighbouring pixels belong together and that a pattern means the same everywhere. The ViT has to learn much of that.
- equal: neither: they are within two points | With enough training the two come closer. With 1,500 pictures, what the convolution assumes from the start is worth a lot.
ask_why: yes
recall: five_hundred_leaves

[random_rollout]
Now take a ViT with *random* weights, which has never been trained on anything. How closely do its rollouts follow the picture?
- less: less closely than those of the trained model | It has learned nothing, so you'd expect that. But the picture isn't random, and attention compares contents whatever the matrices are.
- same: about as closely (the correlations differ by less than 0.1) | The outline doesn't depend on training. But training can also blur it, because the model learns to use more than brightness.
- more: more closely | Right. Random matrices react to whatever differs most between patches, and here that's how bright they are. Training teaches the model to look at other things as well.
ask_why: yes
recall: what_rollout_shows

[take_patches_away]
We leave 12 of the 49 patches out and ask the trained model again. Which choice lowers its number of right answers the most?
- trained: the 12 with the largest rollout in the trained model | Right. Without these patches, nearly half of the right answers are lost.
- random: the 12 with the largest rollout in the random model | A random model's map follows the garment, so this hurts more than leaving out patches at random. But nothing in the map shows which parts of the garment matter.
- bright: the 12 brightest patches | Bright patches are mostly garment, so this hurts more than leaving out patches at random. But much of a garment's inside tells the model little.
recall: what_rollout_shows
""")
