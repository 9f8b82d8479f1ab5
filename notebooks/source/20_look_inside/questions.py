"""Questions of lesson 20, look inside."""

from helpers.exercises.written import predictions, questions

QUESTIONS = questions(r"""
[what_patching_showed: single]
Patching head 4's output at the last word turns *Paris* into *Berlin*. What have you shown?
- The capitals are stored in head 4. | The country's vector held the difference long before layer 23. The head brings it over.
+ Between these two sentences, the difference reaches the last word mainly through head 4. | Yes. That's what was replaced, and nothing else was.
- Without head 4, the model doesn't know any capitals. | With head 4 silenced it still named some, because other heads carry part of the difference.
- Head 4 attends to the country whenever a capital is asked for. | We didn't look at where the head attends, and we didn't test it with a change either.

[why_as_many_others: single]
You silence the eight heads with the highest score, and a task gets worse. Why silence eight others as well?
- To average over more heads, so that the effect is measured more exactly. | The others aren't averaged with the eight. They're what we compare the eight with.
+ To see how much of the damage comes from silencing eight heads, whichever they are. | Yes. Only damage beyond that is evidence for the score.
- To find heads that the score has missed. | A random draw would be a poor way to search.
- To make sure that the model works without them. | It might or might not, but our question is whether the eight are special.

[what_the_lens_missed: single]
At the last word, the lens ranks *Paris* 3,000th after layer 20. What follows?
- Up to layer 20, the model doesn't know the answer. | The model might keep the answer elsewhere. Patching showed that the vector at *France* holds what makes the difference.
+ At this position, the vector doesn't yet point to “Paris” as the output layer reads it. | Yes. The rank says nothing about other positions, or about other ways to encode the answer.
- Layers 1 to 20 could be left out. | They turn *France* into a vector from which *Paris* can be taken.
- The final norm should have been left out. | Without the norm, features that the model scales down before the output would count too much.

[zero_or_mean: single]
A head outputs nearly the same vector for every text. You silence it twice, once with zero and once with its mean. What do you expect?
+ Zero does damage and the mean hardly any. | Yes. Later layers rely on that constant vector, and the mean leaves it in place.
- Neither does any damage, because the head says nothing about the text. | It says nothing about the text, but it adds something that later layers are used to.
- Both do the same damage, because both remove what depends on the text. | Zero also removes the constant part, which later layers rely on.
- The mean does damage and zero doesn't. | The mean is close to what the head outputs anyway.

[cells_that_can_differ: number]
Two sentences of 6 tokens differ only in the fourth. For a model with 12 layers you patch every position before each layer. How many of these 72 patches can change the answer?
- 72 | The first three tokens are the same in both sentences and can't see any later ones, so their vectors are equal, too.
- 12 | The tokens after the fourth can see it, so their vectors differ as well.
- 36 | Before layer 0, the last two tokens haven't seen the fourth yet.
answer: 34
why: Three positions times 12 layers are 36. But before layer 0, the last two tokens are still plain embeddings, equal in both sentences.

[what_qk_and_ov_say: multiple]
Which of these are answered by a head's W_Q W_Kᵀ alone, without its values and its output?
+ Which tokens it would attend to. | Yes, a score needs queries and keys only.
- What it adds to the stream when it attends to “France”. | That's the other product, of its values and its output.
+ Whether it prefers tokens that followed an earlier copy of the current one. | Yes. That preference is in the scores.
- Whether it copies the token that it attends to. | Copying is what the values and the output do.
""")

PREDICTIONS = predictions(r"""
[without_eight_heads]
The second copy costs SmolLM about 3 nats per token. What will it cost if we silence the eight heads with the highest scores?
- eleven: about 11 nats per token | Right. Hardly anything else in the model can recite random tokens.
- seven: about 7 nats per token | The other 262 heads would have to make up for half of the damage. They don't.
- four: about 4 nats per token | That's what happens if eight other heads are silenced. Without the eight highest, SmolLM can hardly recite random tokens.
explain: The heads were chosen by their score on one draw of random tokens and silenced on another, so the effect isn't an accident of one draw.
recall: why_as_many_others

[the_first_token_hidden]
Over 40% of all weight is on the first token. If we hide it from all other tokens, by how much does the loss rise?
- much: by more than a nat per token | Another change, later in this section, raises the loss by that much. This one doesn't.
- some: by about half a nat per token | Another token can do what the first one did, so the loss rises by less.
- hardly: by a tenth of a nat per token | Right. The weight has moved to another token.
explain: The first token isn't special in itself. In the text that we looked at, the second one, which then saw only itself, took its place.

[when_it_knows]
SmolLM has 30 layers. From which layer on does the lens rank the capital above all other tokens?
- ten: from the tenth layer on | The fact is a simple one, but at layer 10 the vector at the last word doesn't point to the capital yet.
- twenty: from the twentieth layer on | At layer 20, thousands of tokens still rank above the capital.
- end: from one of the last layers on | Right. Up to layer 23 the capital isn't even among the top thousand.
explain: In all six sentences, the residual stream at the last word points to the capital only at the very end.
recall: what_the_lens_missed

[one_head_gone]
In the sentence above, silencing heads 0, 1 and 5 of layer 23 costs the right capital's lead between one and two logits. How much do these three cost if head 4 is already silenced?
- more: much more, because they bring part of what head 4 brought | Right. As long as one of them brings it, the others are hardly missed.
- less: less, because there's less of the lead left to lose | There is, and yet these three take away more of it than before.
- same: as much as before, because no head of a layer reads what the others bring | None of them can notice that head 4 is gone, and each brings what it always brought. But later layers read what all of them have brought together.
explain: The lead was measured for ten countries that played no part in choosing the heads.
recall: what_patching_showed
""")
