"""Questions of lesson 07, encoder and decoder."""

from helpers.exercises.written import predictions, questions

QUESTIONS = questions(r"""
[what_layer_norm_sees: single]
A batch has the shape (B, T, D). Over which dimension does layer normalisation take the mean and the variance?
+ Over D: each position by itself. | Yes, which is why gain and bias have the shape (D,).
- Over B: each feature across the batch. | That is batch normalisation. A sentence would then depend on the others in its batch.
- Over T and D: each sentence by itself. | Then padding would count, and positions would depend on each other.
- Over T: each feature across the sentence. | Then a decoder could see the future through the mean.

[what_dropout_does: multiple]
Which of these are true of dropout with p = 0.1?
+ In training, a tenth of the activations is set to zero. | True, and a different tenth each time.
+ The activations that are kept are divided by 0.9. | True, because that keeps the expected sum where it was.
- A tenth of the weights is removed. | Not so: the weights stay, and activations are set to zero.
- It stays on when the model translates. | Not so: model.eval() turns it off.

[memory_shape: shape]
A source of 7 tokens and a target of 5, width 512, one sentence, 8 heads. What is the shape of the cross-attention's weights?
- (1, 8, 7, 5) | Rows are queries, and the queries come from the target.
- (1, 8, 5, 5) | That is the decoder's self-attention.
- (1, 8, 7, 7) | That is the encoder's self-attention.
- (1, 5, 7) | The dimension of the heads is missing.
- (8, 5, 7) | The batch has one sentence, and its dimension is missing.
answer: (1, 8, 5, 7)
why: (B, H, T, S).

[why_residual: open]
Explain to a friend who knows about matrices, but not about neural networks, why a deep stack is easier to train with paths around its layers.
answer: Without the path, every layer has to pass on everything in its input, and it has to learn this from random weights. The gradient reaches the first layer only through a long product of matrices, and such a product shrinks or grows with the depth. Norms preserve the size of the gradient, but not the information in it. With the path, a layer that does nothing passes x on unchanged, so it only has to learn what to add. The derivative of x + f(x) is 1 plus something, so a part of the gradient reaches every layer undiminished. That's exactly true in pre-norm, while in post-norm each norm rescales it. And without the paths all words of a sentence become alike: after two layers only a small part of each vector is still the word's own, and after four layers none of it is.

[name_the_parts: match]
Match each name in the picture with what it is.
* encoder -> a stack of N layers that reads the source
* encoder layer -> self-attention and feed-forward, each with add & norm
* sublayer -> one attention or one feed-forward network, with a path around it
* head -> one of several attentions inside a sublayer
* memory -> what the last encoder layer returns
why: A stack is made of layers, a layer of sublayers, and an attention sublayer of heads.

[pencil_norm: number]
Normalise the vector (2, 4, 4, 6) with a pencil: gain 1, bias 0, and leave out ε. What does the last entry become?
- 1.22 | That divides the squares by n − 1 = 3. Layer normalisation divides by n = 4.
- 1 | That divides by the variance, 2. Divide by its square root.
- 2 | You've subtracted the mean. Now divide by the standard deviation.
- 4.24 | Subtract the mean, 4, before you divide.
answer: 1.414
why: The mean is 4, the variance (4 + 0 + 0 + 4) / 4 = 2, and 2 / √2 = 1.41.
tolerance: 0.01

[sublayers_in_order: order]
Put these in order, from the target's embeddings to the next word.
* masked self-attention
* cross-attention
* feed-forward network
* linear layer and softmax
why: Cross-attention is a decoder layer's second sublayer. The linear layer and the softmax come once, after the last layer.
""")

PREDICTIONS = predictions(r"""
[attention_alone]
A sentence goes through four attention layers with nothing around them. How much of each word's vector is still its own?
explain: Every output of attention is an average of values, so the words become more alike with every layer.
too_high: Attention averages, and the next layer averages the averages. The differences between words shrink faster with every layer.
unit: %
close: 0.06
ask_why: yes

[size_after_twelve]
The entries of the input have a typical size of 1. What is their typical size after twelve attention layers, each with a path around it?
- many: more than 10 | Each layer adds in proportion to the x that it reads.
- few: from 3 to 10 | That would be so if every layer added something as large as the input.
- same: less than 3 | Attention alone only averages. But here the average is *added* to x, twelve times.

[what_it_survives]
We take one of these away from the trained encoder. Without which one does the translator still write sensible English?
- norms: the norms before the sublayers | The sublayers then read vectors of a size that they have never met in training.
- paths: the paths around the sublayers | The decoder then gets only what the last sublayer computed, and nothing of the words themselves.
- ffn: the whole feed-forward network | Losing the whole network sounds worst, and it does the least harm.
- relu: the ReLU in the feed-forward network | The two matrices are still there, but the second was trained on numbers that are often zero.
explain: Without its feed-forward network, a layer still passes on x and what attention adds to it, which is much what the later layers were trained on. The other three changes put wrong numbers into the vectors.
ask_why: yes

[careful_start]
Four layers, no norms, and a careful start. How does the final validation loss compare with that of the models with norms?
- lower: lower, by more than 0.2 nats | Yes, with every seed. It was the start that had ruined the models without norms.
- same: about as high, within 0.2 nats | A fair guess, since both start from vectors of a sensible size.
- higher: higher, by more than 0.2 nats | That would be so if deep stacks couldn't be trained without a norm.
explain: With output matrices a tenth of their usual size, each layer at first passes x on almost unchanged, so the sums stay small. From there, training goes well without any norm.
ask_why: yes

[keys_from_memory]
Our translator has three encoder layers and three decoder layers. Where do its three cross-attentions get their keys?
- matching: from encoder layers 1, 2 and 3, one from each | Drawings with parallel arrows suggest this. Only the last encoder layer's output leaves the encoder.
- each: from the last encoder layer, computed three times | Yes: one memory, and three pairs of W_K and W_V.
- once: from the last encoder layer, computed once for all | The memory is the same for all three, but each projects it with a W_K of its own.
explain: There is one memory, the output of the last encoder layer. Every decoder layer projects it with its own W_K and W_V.

[larger_gradient]
Twelve fresh layers and one backward pass. Which of the two, post-norm or pre-norm, gives the *last* layers the larger gradient?
- pre: pre-norm, by more than half | It's true that nothing interrupts the path to the loss in pre-norm. But by the last layers the sum has grown.
- post: post-norm, by more than half | Yes, more than three times as large with this seed.
- same: neither by more than half | Both are next to the loss, but the norm after the last layer makes a difference.
explain: In pre-norm the sum has grown by the last layer, so that layer changes it less. In post-norm every layer's output has been brought back to size 1.

[parameters_of_base]
How many million parameters does this model have? Count on paper: attention, feed-forward, norms, six layers on each side, one embedding.
too_low: Two things are easy to forget: cross-attention in every decoder layer, with four more matrices, and the embedding, with 37,000 × 512.
too_high: The embedding counts once, although it's used in three places.
unit: million
low: 1
high: 1000
close: 0.05
""")
