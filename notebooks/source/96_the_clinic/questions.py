"""Predictions of page 96, the clinic: which organ is ill?"""

from helpers.exercises.content import Prediction
from helpers.models.patients import PATIENTS

QUESTIONS = []

ORGANS = {
    "masks": "the masks: who may look where",
    "attention": "inside attention: heads, softmax, scale, dropout",
    "stack": "the stack: embedding, positions, layers",
    "training": "what training sees: the output and its targets",
}
# Which organ a finding belongs to, so that the notebook can reveal what `examine` has found.
ORGAN_OF = {
    "sees the future": "masks", "padding counts": "masks", "mask inverted": "masks",
    "mask after softmax": "masks", "heads scrambled": "attention",
    "softmax over queries": "attention", "not scaled": "attention",
    "dropout in evaluation": "attention", "order unseen": "stack", "layers shared": "stack",
    "probabilities instead of logits": "training", "targets not shifted": "training",
}  # fmt: skip
WHY = {
    "output": "A softmax of probabilities is nearly flat, so its gradients are small. Nothing "
    "breaks, but everything is slow.",
    "flipped": "A model that sees only what comes next can cheat in training, but when it writes, "
    "it can't read what it has written.",
    "evaluation": "`F.dropout` knows nothing of `model.eval()` unless it's told, and neither "
    "does `F.scaled_dot_product_attention`.",
    "bag of words": "The position table was read along the batch axis, so every word of a "
    "sentence got the same position.",
    "one layer": "`[layer] * n` writes one layer into the list n times. The number of parameters "
    "gives it away, and so does the clinic.",
    "copying": "The mask is right. But the target at each position is the very word that the model "
    "has just read there.",
    "columns": "Every column of the weights sums to 1 instead of every row. A query's weights are "
    "still positive, so nothing breaks, but their sum can be anything.",
    "too late": "Zeros after the softmax hide the values of the future, but its denominator has "
    "read the future's keys.",
    "heads": "A view without a transpose mixes the numbers of different positions. A copy task is "
    "so easy that the rest of the model learns to undo the damage.",
    "too soft": "If you divide by the root of the model's width instead of a head's, the scores are "
    "too small by a factor of √H. The model still trains, a little worse, and raises no error.",
}

ELSEWHERE = {
    "masks": "The masks are in order. No output depends on a word that it isn't allowed to read.",
    "attention": "Attention is in order. Its heads keep positions apart, and its softmax is over keys.",
    "stack": "The stack is in order. Each layer has weights of its own, and word order counts.",
    "training": "The output is in order, and so are the targets that it's trained on.",
}

PREDICTIONS = [
    Prediction(
        f"organ_{name.replace(' ', '_')}",
        f"The owner of patient *{name}* says: “{patient.complaint}” Which part would you look at "
        f"first?",
        options={
            key: (text, WHY[name] if key == ORGAN_OF[patient.finding] else ELSEWHERE[key])
            for key, text in ORGANS.items()
        },
    )
    for name, patient in PATIENTS.items()
    if name in WHY  # the first two are met before
]
