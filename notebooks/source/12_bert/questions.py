"""Questions of lesson 12, BERT."""

from helpers.exercises.written import predictions, questions

QUESTIONS = questions(r"""
[why_some_masked_tokens_stay: single]
Of the tokens that BERT has to predict, a tenth stay as they are. Why?
- So that copying some of the tokens keeps the loss low and the training stable. | A lower loss isn't the aim, and copying one token in ten hardly changes it.
- Because masking all of them would leave too few words to predict from. | Only 15% of the tokens are chosen, so the other 85% are visible in any case.
+ So that the vector at a visible word has to be useful too. | Yes. When BERT is put to use there's no [MASK], so every vector belongs to a visible word.
- They fill the batch up to its length, as padding does. | The length of the text doesn't change at all. Tokens are replaced, and none is removed.

[who_can_write: single]
A friend wants BERT to continue a story, one word at a time. What's the problem?
+ It was trained to fill gaps between words that it can see. | Yes. At the end of a story there are no words on the right yet, and BERT has hardly ever been in that position.
- It has no vocabulary of its own, so it can't name a word. | Its masked-language-model head returns a logit for every word of the vocabulary.
- It reads from right to left, so a story would come out backwards. | It reads all positions at once, in no direction.
- Its vectors have been pooled into one, so positions are lost. | Only the pooler reduces a text to one vector. The encoder returns one per token.

[positions_of_bert: single]
Where does BERT get its positions from?
- From sines and cosines, as in the 2017 paper, so any length will do. | The model of 2017 did it that way. BERT has a table of 512 learned vectors.
+ From a learned table of 512 rows, so position 513 doesn't exist. | Yes. Longer texts are cut, or read in windows.
- From the order in which the tokens are processed. | All tokens are processed at once. Without positions the order would be lost.
- From the segments. | Segments say which of two texts a token belongs to, not where it is in the text.

[shape_of_pooled_base: shape]
Three texts, padded to 512 tokens, go through BERT-base, which is 768 wide. What is the shape of its pooled output?
- (3, 512, 768) | That's the encoder's output, one vector per token.
- (3, 512) | That's the shape of the input ids.
- (512, 768) | The batch is missing, and the pooler keeps one position only.
- (3, 1, 768) | The position is indexed, so its dimension disappears.
answer: (3, 768)
why: One vector per text, made from the first position.

[lora_trainable: number]
We add LoRA matrices of rank 8 to a linear layer with 384 inputs and 1,536 outputs. How many parameters are trained?
- 589824 | That's the whole matrix, which stays frozen.
- 3072 | That's A alone, 8 × 384. B is trained too.
- 12288 | That's B alone, 1,536 × 8. A is trained too.
- 4718592 | A and B are multiplied here. They are two separate matrices.
answer: 15360
why: A has 8 × 384 parameters and B has 1,536 × 8. Together that's 2.6% as many as the matrix has.

[why_b_starts_at_zero: single]
LoRA starts with B = 0 and a random A. What would go wrong with both at zero?
- The first outputs would be zero, whatever the frozen matrix says. | The frozen matrix still computes what it did. Only the correction is zero.
- Nothing, because the optimiser moves zeros like any other number. | The optimiser moves a number along its gradient, and with both matrices at zero both gradients are zero.
- The merged matrix would have rank zero. | The merged matrix contains W, whose rank doesn't change.
+ Neither would ever get a gradient, so nothing would be learned. | Yes. The gradient of A contains B and that of B contains A.

[mean_or_cls: open]
Somebody reports that mean pooling beats [CLS] in all BERT models, and cites MiniLM as proof. What would you answer?
answer: MiniLM was trained so that the mean of its vectors represents a sentence. Its [CLS] vector was never trained for that, so it's no surprise that the mean wins, and the result says nothing about a BERT that was trained differently. BERT's own pooler was trained on a task about two texts. Once all layers are fine-tuned, the choice matters much less, because the layers can bring whatever is needed to the first position.
""")

PREDICTIONS = predictions(r"""
[woman_or_women]
Compare *the ___ behind the house sings* with *the ___ behind the house sing*. After training, how much of the probability do plural nouns get in each?
- house: little in both, because *house* is nearer than the verb | *House* is a noun, but the verb doesn't agree with it. In training, it's the verb that shows which form is hidden.
- verb: little in the first and most in the second, as the verb decides | Yes. Every position attends to every other one, so the gap can find the verb four words away.
- even: about half in both, because 700 steps are too few for grammar | For real English they would be. In a toy corpus with so few words, 700 batches are enough.
ask_why: yes

[which_pooling]
MiniLM is frozen and there are 5,000 reviews. Which vector per review lets the logistic regression judge best?
- cls: the vector of [CLS], which attends to every word | It does, but MiniLM was never trained to sum up a sentence in that vector.
- pooler: the pooler's output, which was made for classification | BERT's pooler was trained on a task about two texts. When the people who made MiniLM trained their model further, they left the pooler out.
- mean: the mean over all tokens, although it doesn't know which word matters | Yes. MiniLM was trained so that two sentences can be compared by the means of their vectors.
ask_why: yes
recall: mean_or_cls

[words_or_vectors]
With 5,000 labelled reviews, which of the two is ahead, averaged over eight draws?
- frozen: the frozen mean, by more than 2 points, because it has read far more text | With few labels that's worth a lot. But in 5,000 reviews, the bag of words has met most of the words that matter.
- level: neither, by more than 2 points, because labels make up for having read less | Yes. The bag of words learns the important words from the labels, while the frozen vectors can't change.
- words: the bag of words, by more than 2 points, because it keeps every single word | It does keep every word, while the frozen mean blurs them all into 384 numbers. But the bag of words has to learn each word from the labelled reviews alone.
ask_why: yes

[lora_from_fifty]
From how many labelled reviews on is LoRA more than 2 points ahead of the frozen mean, again averaged over eight draws?
- fifty: from 50 on, because it can change the vectors themselves from the start | It can, but 50 reviews hardly tell it in which direction. With more labels this becomes its strength.
- hundreds: from 500 on, because 50 hardly say how vectors should change | Yes. With 50 reviews, the luck of the draw matters more than the method.
- thousands: from 5,000 on, because so many parameters need so many examples | LoRA starts from what the frozen model computes, so it has far less to learn than its 664,322 parameters suggest.
ask_why: yes

[labels_without_a_mask]
We pad 20 reviews to 512 tokens and leave out the attention mask. How many of them does the model judge differently?
too_low: Padding isn't neutral. There are hundreds of [PAD] tokens, and in every head they take a share of the weight.
too_high: The words are still there and get some of the weight, so many reviews keep their label.
unit: reviews
low: 0
high: 20
slider: yes
ask_why: yes
""")
