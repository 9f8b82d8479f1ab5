"""Questions of lesson 13, find it, then point at it."""

from helpers.exercises.written import predictions, questions

QUESTIONS = questions(r"""
[what_a_retriever_needs: single]
A user types *car won't start in winter*. The right page says *vehicle battery, low temperatures*. Which finder can find it?
- BM25, because both texts are short. | The two share no word, so BM25 gives this page a score of 0, however short it is.
+ MiniLM, because it compares vectors. | Yes. Two texts without a common word can have similar vectors.
- Either, if the list of results is long enough. | BM25 gives every page without a shared word the same score, 0, so the right page ranks no higher than thousands of wrong ones.
- Neither, before a model has been trained on cars and batteries. | MiniLM was trained on a billion pairs of texts about all sorts of things, and cars and batteries are surely among them.

[valid_spans: number]
A text has 10 tokens, and an answer at most 3. How many valid spans are there?
- 30 | That allows three lengths at every start, but near the end of the text there's no room for three tokens.
- 100 | These are all pairs of a start and an end, valid or not.
- 55 | That counts spans of any length. At most 3 tokens are allowed.
- 24 | That is 3 × 8, with only those starts that have room for three tokens.
- 17 | That is 9 + 8. An answer can also be a single token.
answer: 27.0
why: 10 spans of one token, 9 of two and 8 of three.

[pencil_f1: number]
Predicted: *onggirat tribe of mongolia*. True: *onggirat tribe*. What is the F1, as a number between 0 and 1?
- 0.5 | That is the precision, 2 of 4. The recall is 1.
- 1 | That is the recall. Two of the predicted words aren't in the true answer.
- 0.75 | That is the arithmetic mean of 0.5 and 1. F1 is the harmonic mean.
- 0.33 | You forgot the factor 2.
answer: 0.6667
why: The precision is 2/4 and the recall 2/2, so F1 is 2 · 0.5 · 1 / 1.5.
tolerance: 0.01

[where_it_failed: single]
Your pipeline answers a question wrongly. What do you look at first?
+ Whether the paragraph that was found contains the answer. | Yes. If it doesn't, no reader could have helped, and you have to repair the finder.
- Whether the reader's score is high enough. | The score compares this answer with giving no answer, and only within the text that the reader was given. Even in a wrong text it can be high.
- Whether the two argmaxes are a valid span. | The reader already takes the best valid span, so that can't be it.
- Whether the question was asked in training. | Most questions weren't, and that alone doesn't make an answer wrong.

[shape_of_the_span_head: shape]
The encoder returns 200 vectors of width 384, one row per token. These rows are multiplied by a matrix to get start and end logits. What is the shape of that matrix?
- (384, 200) | The head returns two numbers per token, whatever the length.
- (200, 2) | That is the shape of the result, the logits.
- (384, 1) | There are two logits per token, one for the start and one for the end.
- (2, 384) | The token vectors are on the left of the product, so the width comes first. What PyTorch stores is the transpose.
answer: (384, 2)
why: (200, 384) times (384, 2) is (200, 2), two logits per token.

[why_offsets: single]
The reader points at the tokens `17 , 786 , 419`. What should your program print?
- 17 , 786 , 419 | That's glued together from the tokens. The text has no spaces there.
- 17786419 | Leaving out the spaces is right, but the commas belong to the text.
+ 17,786,419 | Yes: the text from the first token's beginning to the last one's end.
- 17, 786, 419, since a space follows a comma in English text | In a number it doesn't, and no rule for spaces is right everywhere. Only the text itself is reliable.

[a_reader_for_contracts: open]
A company wants a reader for its 40,000 contracts, to point at the right clause when somebody types a question. Which two things would you measure before anybody relies on it, and what would you show beside its answer?
answer: First measure recall at k, on real questions from the people who will ask them and not on questions written from the clauses. How often is the right clause among the first five? Then measure F1 or exact match with the right clause given, so that you know which of the two steps fails. Add questions that no contract answers and count how often the reader answers anyway. Beside the answer show the clause it comes from and the source of that clause, since an answer is only as reliable as its text. Where the scores are close, show the runner-up as well.
""")

PREDICTIONS = predictions(r"""
[jim_henson]
The reader gets the question *Who was Jim Henson?* and the text *Jim Henson was a nice puppet.* What does it point at?
- name: *Jim Henson* | He's the person the question asks about, and most answers to *who* are names. But the reader was trained on many questions, and an answer that repeats the question is hardly ever right.
- description: *a nice puppet*, or a part of it | Right, although it's nonsense. Nothing else in this text could answer the question.
- sentence: the whole sentence | The whole sentence certainly contains the answer. But the reader learned from answers that people marked, and these are only a few words long.
ask_why: yes

[words_or_meaning]
MiniLM was trained on a billion pairs of texts, while BM25 counts words. Which of them puts the right paragraph first more often?
- meaning: MiniLM, by more than three points | You'd think so. But a shared name or rare word is strong evidence, and a vector of 384 numbers blurs it.
- words: BM25, by more than three points | BM25 is a strong opponent on such questions, but MiniLM keeps up with it.
- equal: they are within three points | Right. They miss about equally many, but mostly not the same ones.
ask_why: yes
recall: what_a_retriever_needs

[in_other_words]
For how many of our 21 questions does MiniLM put the right one of the 110 paragraphs first?
too_low: MiniLM was trained to bring texts of similar meaning together, such as *beat pupils* and *corporal punishment*.
too_high: A few of our questions are close to other paragraphs of the same article as well.
unit: questions
low: 0
high: 21
close: 0.15
recall: what_a_retriever_needs

[two_argmaxes]
How often do the best start and the best end *not* form a valid answer? Either the end comes before the start, or the answer is longer than 20 tokens.
too_low: Start and end are chosen independently, so they can disagree as soon as two places in the text look good.
too_high: In most texts one place looks far better than all others, and the start and end logits both point there.
unit: %
close: 0.05

[a_wrong_paragraph]
Above you see the reader's F1 in the right paragraph, in percent. What does it reach in the most similar *wrong* one?
too_low: Some words are right by chance, and now and then another paragraph contains the answer, too.
too_high: The reader always points at something. But the right answer isn't there, so it's nearly always wrong.
low: 0
high: 100
slider: yes
close: 0.05
recall: where_it_failed

[does_the_score_know]
Draw one question with an answer and one without. How often does the reader give the higher score to the one *with* an answer? Chance would be 50%.
too_low: The reader was trained on such questions as well, so it can tell them apart better than that.
too_high: The questions without an answer were written to look like the others: the topic and the words are the same, and only some detail differs.
unit: %
close: 0.06
""")
