"""Questions of lesson 11, tokenizers."""

from helpers.exercises.written import predictions, questions

QUESTIONS = questions(r"""
[shrink_the_vocabulary: single]
You've learned 8,000 byte-pair pieces and now want only 2,000, without training again. Which 2,000 cut every text just as if training had stopped at 2,000?
+ The first 2,000 in order of learning. | Yes. Training never takes a merge back, so it learns the same first 2,000 however long it goes on.
- The 2,000 that occur most often in the training text, once it's cut. | Frequency after the cut isn't the order of learning. An early piece such as *th* might be rare at the end, because *the* has swallowed it, but later merges are still built on it.
- The 2,000 longest. | Long pieces are built from short ones, and without the short ones they can't be built.
- None, because the tokenizer has to be trained again. | Training again would work, but it would learn exactly the merges that you already have.

[three_recipes: match]
What does each recipe do when it cuts a word?
* byte pairs -> make the merge that was learned first, again and again
* WordPiece -> take the longest known piece from the left, again and again
* Unigram -> compare all cuts and take the likeliest
why: Byte-pair encoding replays its training, WordPiece is greedy from the left, and only Unigram compares whole cuts.

[letters_of_a_token: single]
Why is counting the letters of *strawberry* hard for a model that reads pieces?
+ It gets the number of a piece, and the spelling isn't in that number. | Yes. It can only have learned the spelling from texts that happen to talk about it.
- Its attention heads can't look at single letters within a sentence of many words. | They could if letters were tokens. There are no letters to look at.
- The word is rare, so its embedding is hardly trained. | The word is frequent enough to be a piece of its own, which is exactly why its letters are hidden.
- Softmax blurs small numbers. | A model that reads letters has a softmax too, and can count them.

[shape_of_a_batch: shape]
Three sentences of 5, 9 and 3 tokens, special tokens included, go into one batch, padded to the longest. What is the shape of the attention mask, one row per sentence?
- (3, 17) | That is the sum of the lengths. Each sentence has a row of its own.
- (9, 3) | Rows are sentences, so the batch comes first.
- (3, 512) | 512 is the most that the model can take. A batch needs only the length of its longest row.
- (3, 3) | That would cut off everything after the third token.
answer: (3, 9)
why: Three rows, each as long as the longest sentence.

[what_bytes_promise: multiple]
Which of these are true of a byte-level vocabulary?
+ Every text can be written with it. | True: every text is a sequence of bytes, and all 256 are in the vocabulary.
+ Decoding gives back exactly the text, spaces and all. | True, as long as nothing was changed before the cut, such as accents or capital letters.
- Every character is at least one whole token. | Not so: a character can be spread over up to four tokens.
- All languages need about the same number of tokens. | Not so. It depends on what the merges were learned from and on a script's bytes per character, as section 5 shows.

[the_wrong_tokenizer: single]
You load a trained model and, by mistake, the tokenizer of another model whose vocabulary has the same size. What happens?
+ No error, but the output is nonsense. | All ids are valid, but each looks up the vector of some other piece.
- An error, because the model notices unknown pieces. | The model gets numbers, never pieces, and these numbers are in range.
- The same output, because both tokenizers cut text into pieces that mean the same thing. | The pieces may be similar, but their numbers aren't.
- Slightly worse output, as after a few training steps. | It's far worse: practically every token is replaced by another one.

[a_fair_price: open]
A company sells access to its model per token. Some of its customers write in Hindi. What is unfair about that, and what could the company do?
answer: The same content takes several times as many tokens in Hindi as in English, so it costs several times as much, takes longer, and fills the context window sooner. The tokenizer's training text decides most of this. The script adds to it, because a Hindi character takes three bytes. The company could train the tokenizer on a mixture in which all its customers' languages have a fair share, use a larger vocabulary, or price by characters or by content. Changing the tokenizer means training the model again.
""")

PREDICTIONS = predictions(r"""
[pieces_of_strawberry]
How many numbers does MiniLM get for the word *strawberry*?
- letters: ten, one per letter | Then MiniLM could simply count the letters.
- two: two, *straw* and *berry* | That would be a sensible cut, and *blueberry* is cut in this way. But the list was made by counting, and meaning played no part in it.
- three: three, *straw*, *ber* and *ry* | That's how our French–English translator cuts it, because it has seen far fewer strawberries.
- one: one | Yes. In the text that the list was made from, the word was frequent enough.

[cheapest_vocabulary]
A small language model, four layers of width 256, reads the same page with vocabularies of different sizes. Which vocabulary needs the fewest multiplications?
- 500: 500 pieces | The output layer is tiny, but the page has nearly twice as many tokens as with 16,000 pieces, and each of them runs through all the layers.
- 2000: 2,000 pieces | Yes. Beyond that, the text hardly gets shorter, but the output layer keeps growing.
- 8000: 8,000 pieces | The text is a little shorter than with 2,000 pieces, but the output layer is four times as large.
- 16000: 16,000 pieces | It does have the fewest tokens, but more than half of the multiplications per token are in the output layer.
ask_why: yes

[second_merge]
a + t have become one piece, *at*. Which pair is merged next?
- h_a: h + a | It came second with 12, but no *a* is left on its own, because every *a* is now part of an *at*.
- h_at: h + at | Yes. The pairs are counted again after every merge, and h + at occurs 12 times.
- t_h: t + h | It occurs four times, as in *that*. There's a more frequent pair now that didn't exist before.
- c_h: c + h | It occurs only three times, as in *chat*.

[hindi_tokens]
We cut a short paragraph and its Hindi translation with the 16,000 pieces learned from the English tales. How many times as long is the Hindi version, counted in tokens?
too_low: A Hindi character takes three bytes, and no merge was learned from any of them. English words, on the other hand, are mostly single pieces.
too_high: Every byte is a token of its own here, and it can't get worse than that.
unit: times
low: 0.1
high: 100
close: 0.25
""")
