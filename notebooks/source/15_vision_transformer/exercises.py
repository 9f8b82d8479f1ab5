"""Lesson 15, the Vision Transformer."""

import functools
import math

import torch
import torch.nn.functional as F

from helpers.exercises.model import Exercise, Mistake, normal


def patchify(images, patch_size):
    """Cut pictures into patches, row by row: (B, C, height, width) -> (B, N, C·P·P)."""
    rows = images.unflatten(2, (-1, patch_size))  # (B, C, rows, P, width)
    grid = rows.unflatten(4, (-1, patch_size))  # (B, C, rows, P, columns, P)
    patches = grid.permute(0, 2, 4, 1, 3, 5)  # (B, rows, columns, C, P, P)
    return patches.flatten(3).flatten(1, 2)


def unpatchify(patches, patch_size, n_rows):
    """Put patches back together: (B, N, C·P·P) -> (B, C, height, width)."""
    pixels = patches.unflatten(2, (-1, patch_size, patch_size))  # (B, N, C, P, P)
    grid = pixels.unflatten(1, (n_rows, -1))  # (B, rows, columns, C, P, P)
    image = grid.permute(0, 3, 1, 4, 2, 5)  # (B, C, rows, P, columns, P)
    return image.flatten(4).flatten(2, 3)


def add_class_token(patches, class_token):
    """Put the class token in front of every picture's patches: (B, N, D), (D,) -> (B, 1 + N, D)."""
    first = class_token.expand(len(patches), 1, -1)  # (D,) -> (B, 1, D)
    return torch.cat([first, patches], dim=1)


def stuck_answer(patches, class_token, positions, encode, w):
    """Classify pictures by the class token: (B, N, D) -> logits (B, n_classes)."""
    first = class_token.expand(len(patches), 1, -1)
    tokens = torch.cat([first, patches], dim=1) + positions
    encoded = encode(tokens)
    return encoded[:, 0] @ w


def grid_score(table, n_columns):
    """Compute how many positions are most similar to a neighbour in the grid: (N, D) -> a share."""
    unit = table / table.norm(dim=-1, keepdim=True)
    similarity = unit @ unit.T  # (N, N)
    similarity.fill_diagonal_(-2)
    nearest = similarity.argmax(-1)  # (N,)
    place = torch.arange(len(table))
    rows = (place // n_columns - nearest // n_columns).abs()
    columns = (place % n_columns - nearest % n_columns).abs()
    return (rows + columns == 1).float().mean()


def attention_rollout(weights):
    """Multiply the layers' maps, the residual connection counted as half: (L, H, T, T) -> (T, T)."""
    identity = torch.eye(weights.shape[-1])
    rollout = identity
    for layer in weights.mean(1):
        mixed = (layer + identity) / 2
        rollout = mixed @ rollout
    return rollout


def vit_parameters(image_size, patch_size, n_channels, n_classes, d_model, n_layers, d_ff):
    """Count the numbers that a Vision Transformer learns."""
    n_patches = (image_size // patch_size) ** 2
    projection = n_channels * patch_size**2 * d_model + d_model
    class_token = d_model
    positions = (n_patches + 1) * d_model
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norms = 2 * (d_model + d_model)
    layers = n_layers * (attention + feed_forward + norms)
    last = d_model + d_model + d_model * n_classes + n_classes
    return projection + class_token + positions + layers + last


# Small inputs; every size differs from every other where it can.


def mix(tokens):
    """Let every token attend to all of them and add what it finds: (B, T, D) -> (B, T, D)."""
    scores = tokens @ tokens.mT / math.sqrt(tokens.shape[-1])
    return tokens + scores.softmax(-1) @ tokens


def _draw_tables(generator):
    """Tables in which some positions resemble a neighbour in the row, in the column, or neither."""
    for n_rows, n_columns, noise in [(3, 4, 0.2), (4, 3, 0.5), (5, 6, 0.6), (3, 7, 0.9)]:
        row, column = torch.arange(n_rows)[:, None, None], torch.arange(n_columns)[:, None]
        waves = torch.linspace(0.5, 1.5, 3)
        angles = torch.broadcast_tensors(row * waves, 1.3 * column * waves)
        parts = [part for angle in angles for part in (angle.sin(), angle.cos())]
        grid = torch.cat(parts, dim=-1).flatten(0, 1)
        length = 0.5 + torch.rand(len(grid), 1, generator=generator)
        random = torch.randn(grid.shape, generator=generator)
        yield length * (grid + noise * random + 0.4), n_columns


# The same written differently.


def _score_in_loops(table, n_columns):
    hits = 0
    for i, one in enumerate(table):
        alike = F.cosine_similarity(one[None], table)
        alike[i] = -math.inf
        (r, c), (s, d) = divmod(i, n_columns), divmod(alike.argmax().item(), n_columns)
        hits += abs(r - s) + abs(c - d) == 1
    return torch.tensor(hits / len(table))


def _parameters_in_one_sum(image_size, patch_size, n_channels, n_classes, d_model, n_layers, d_ff):
    d = d_model
    side = image_size // patch_size
    layer = 4 * d * d + 2 * d * d_ff + d_ff + 9 * d
    return (n_channels * patch_size**2 + side**2 + 5) * d + n_layers * layer + (d + 1) * n_classes


TO_GRID = "grid.permute(0, 2, 4, 1, 3, 5)"
TO_IMAGE = "grid.permute(0, 3, 1, 4, 2, 5)"
JOIN = "torch.cat([first, patches], dim=1)"

# fmt: off
EXERCISES = [
    Exercise(
        name="patchify", title="cut a picture into patches",
        task="Cut pictures (B, C, height, width) into square patches with a side of patch_size, row by row, and flatten each patch by channel, then row, then column.",
        minutes=4, difficulty=3, importance=5,
        reference=patchify,
        draw=normal("b c h w", (1, 1, 4, 6, 2), (2, 1, 6, 9, 3), (2, 3, 4, 8, 2)),
        mistakes=[
            Mistake("torn", "return", "images.flatten(1).unflatten(1, (result.shape[1], -1))",
                    "The shape is right but the numbers aren't, because a reshape straight to (B, N, C·P·P) reads the picture line by line. Cut rows and columns first, then move the two dimensions of the grid next to each other."),
            Mistake("not permuted", TO_GRID, "grid",
                    "The dimensions weren't reordered before flattening. A patch needs its own C, P and P next to each other at the end: permute(0, 2, 4, 1, 3, 5)."),
            Mistake("column by column", TO_GRID, "grid.permute(0, 4, 2, 1, 3, 5)",
                    "Your list of patches runs down the columns of the grid. We read a picture as we read a page, row by row, so rows come before columns."),
            Mistake("grid kept", ".flatten(1, 2)", "",
                    "This is (B, rows, columns, C·P·P). The encoder expects a list of tokens, so flatten the two dimensions of the grid into one."),
            Mistake("every n-th row", "images.unflatten(2, (-1, patch_size))", "images.unflatten(2, (patch_size, -1))",
                    "The height was cut as (P, rows). P counts the rows of pixels inside a patch, so it comes last: (-1, patch_size)."),
        ],
        also_right=[lambda images, size: F.unfold(images, size, stride=size).transpose(1, 2)],
        hints=["Cut the height in two with unflatten, then the width: (B, C, rows, P, columns, P).",
               "Then bring the dimensions into the order (B, rows, columns, C, P, P). By their old numbers that's 0, 2, 4, 1, 3, 5.",
               "grid.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)"],
        look_at="It's split_heads again. You cut a dimension in two and move the parts, and you never reshape across a dimension that has to move.",
    ),
    Exercise(
        name="unpatchify", title="put the picture back together",
        task="Undo patchify. From patches (B, N, C·P·P) and the number of rows in the grid, rebuild the pictures (B, C, height, width).",
        minutes=5, difficulty=3, importance=3,
        reference=unpatchify,
        draw=normal("b n p", (1, 6, 4, 2, 2), (2, 6, 9, 3, 3), (2, 8, 12, 2, 2)),
        mistakes=[
            Mistake("reshaped", "return", "patches.reshape(result.shape)",
                    "The shape is right but the picture is torn, because a reshape writes the patches one after the other along the lines. Build the grid first, then move the dimensions."),
            Mistake("not permuted", TO_IMAGE, "grid.permute(0, 3, 1, 2, 4, 5)",
                    "A patch's rows have to come right after the grid's rows, and its columns right after the grid's columns: (B, C, rows, P, columns, P)."),
            Mistake("grid transposed", TO_IMAGE, "grid.permute(0, 3, 2, 4, 1, 5)",
                    "The patches were put back column by column. They're listed in reading order, row by row."),
            Mistake("rows and columns exchanged", "(n_rows, -1)", "(-1, n_rows)",
                    "n_rows was used as the number of columns. The grid is (rows, columns)."),
            Mistake("channels last", "return", "result.permute(0, 2, 3, 1)",
                    "This is (B, height, width, C), as matplotlib likes it. In PyTorch the channels come before height and width."),
        ],
        also_right=[
            lambda patches, size, n_rows: F.fold(
                patches.transpose(1, 2),
                (n_rows * size, patches.shape[1] // n_rows * size), size, stride=size,
            ),
        ],
        hints=["Go backwards: first unflatten each patch into (C, P, P), then the list of patches into (rows, columns).",
               "From (B, rows, columns, C, P, P) to (B, C, rows, P, columns, P) it's permute(0, 3, 1, 4, 2, 5).",
               "Then flatten rows with P, and columns with P."],
        look_at="Nothing is lost on the way into patches and back. If the model loses something, that happens later.",
    ),
    Exercise(
        name="add_class_token", title="put a class token in front",
        task="Put the same learned vector class_token (D,) in front of every picture's patches (B, N, D).",
        minutes=3, difficulty=1, importance=5,
        reference=add_class_token, draw=normal("b n d, d", (1, 2, 3), (2, 3, 4), (3, 5, 2)),
        mistakes=[
            Mistake("at the end", "[first, patches]", "[patches, first]",
                    "The class token is at the end. Here it comes first, so that its place doesn't depend on the number of patches."),
            Mistake("added to the patches", "return", "patches + class_token",
                    "The class token was added to every patch. It's a token of its own: concatenate it, so that the sequence gets longer by one."),
            Mistake("along the features", JOIN, "torch.cat([first.expand(patches.shape), patches], dim=2)",
                    "The class token was joined to each patch along the features, which doubles the width. Join along the tokens: dim=1."),
            Mistake("along the batch", JOIN, "torch.cat([class_token.expand(1, *patches.shape[1:]), patches], dim=0)",
                    "This adds a picture made of class tokens to the batch. Join along the tokens: dim=1."),
            Mistake("the class token alone", JOIN, "first",
                    "Only the class token came back. The patches should follow it."),
        ],
        also_right=[lambda patches, token: torch.cat([token.repeat(len(patches), 1, 1), patches], dim=1)],
        hints=["Both parts need three dimensions before you can join them.",
               "class_token.expand(len(patches), 1, -1) has the shape (B, 1, D) and copies nothing.",
               "torch.cat([class_token.expand(len(patches), 1, -1), patches], dim=1)"],
        look_at="The first token holds nothing about the picture yet. Whatever it holds after the last layer came in through attention.",
    ),
    Exercise(
        name="stuck_answer", title="find the bug: every picture gets the same answer",
        task="Repair the classifier, so that its logits depend on the picture. One line is wrong.",
        minutes=3, difficulty=2, importance=4,
        reference=stuck_answer, draw=normal(
            "b n d, d, s d, d c", (2, 3, 4, 4, 2), (3, 4, 5, 5, 3), (2, 6, 3, 7, 4),
            then=lambda patches, token, table, w: (patches, token, table, mix, w)),
        mistakes=[
            Mistake("still as it was", "encoded[:, 0] @ w", "tokens[:, 0] @ w",
                    "Compare the three printed rows. They're equal, although the pictures differ. Follow one picture through the function, line by line. Does anything that's computed from this picture reach the logits?"),
            Mistake("last token", "encoded[:, 0]", "encoded[:, -1]",
                    "This reads the last patch. The class token is the first of the tokens."),
            Mistake("mean of all tokens", "encoded[:, 0]", "encoded.mean(1)",
                    "This averages all tokens. Averaging works in practice, too, but here the class token alone gives the answer."),
            Mistake("positions left out", "dim=1) + positions", "dim=1)",
                    "The positions have been lost. The line that adds them was right."),
            Mistake("no position for the class token", "torch.cat([first, patches], dim=1) + positions", "torch.cat([first, patches + positions[1:]], dim=1)",
                    "The class token has no position here. Row 0 of the table belongs to it, and the line that adds the positions was right."),
            Mistake("class token at the end", "[first, patches]", "[patches, first]",
                    "The class token moved to the end, so the first token is a patch now. The line that joins them was right."),
        ],
        also_right=[
            lambda patches, token, positions, encode, w: (
                encode(add_class_token(patches, token) + positions) @ w
            )[:, 0],
        ],
        hints=["Which vector does `answer` hold, and could it be the same for every picture?",
               "`answer` is read before the encoder runs, so the encoder's result isn't used at all.",
               "Move answer = tokens[:, 0] below tokens = encode(tokens)."],
        look_at="Such a model trains without complaint, but all it can learn is how frequent the classes are.",
    ),
    Exercise(
        name="grid_score", title="score the table of positions",
        task="For every position, find the other position whose vector is most similar (cosine). Return the share of positions for which this other position is a direct neighbour in the grid (above, below, left or right).",
        minutes=3, difficulty=3, importance=3,
        reference=grid_score, draw=_draw_tables,
        mistakes=[
            Mistake("lengths left in", "table / table.norm(dim=-1, keepdim=True)", "table",
                    "A plain dot product favours long vectors. Cosine similarity divides every row by its length first."),
            Mistake("itself included", "similarity.fill_diagonal_(-2)", "",
                    "The score is 0 for every table, so no position ever counts. Three mistakes can cause that. If the diagonal isn't left out, every position is most similar to itself. The columns might be computed with // instead of %. Or the sum of the two differences might be compared with a number other than 1."),
            Mistake("diagonal neighbours counted", "rows + columns == 1", "torch.maximum(rows, columns) == 1",
                    "Diagonal neighbours were counted as well. Direct ones differ by one row or by one column, so the two differences add up to 1."),
            Mistake("neighbours in the row only", "(rows + columns == 1)", "((rows == 0) & (columns == 1))",
                    "Only left and right were counted. Above and below are neighbours, too."),
            Mistake("reading order", "(rows + columns == 1)", "((place - nearest).abs() == 1)",
                    "This counts positions that follow each other in the list. But the last position of a row and the first of the next aren't neighbours in the grid, and the positions above and below aren't counted at all."),
            Mistake("rows counted as columns", "place // n_columns - nearest // n_columns", "place // (len(table) // n_columns) - nearest // (len(table) // n_columns)",
                    "The row of a position is place // n_columns, because a row has n_columns positions."),
        ],
        also_right=[lambda table, n: _score_in_loops(F.normalize(table, dim=-1), n)],
        hints=["Divide every row by its length. After that, table @ table.T holds all cosines. Put −2 on the diagonal.",
               "argmax(-1) finds the most similar position. Its row is place // n_columns, its column place % n_columns.",
               "Direct neighbours: the difference of rows plus the difference of columns is 1."],
        look_at="For a random table the score is about 4 in 48, because a position has up to four neighbours among 48 others.",
    ),
    Exercise(
        name="attention_rollout", title="roll the attention out",
        task="Average the heads of each layer, then average the result with the identity for the residual connection. Multiply the matrices of all layers, the first one on the right: (layers, H, T, T) to (T, T).",
        minutes=5, difficulty=3, importance=4,
        reference=attention_rollout, draw=normal(
            "b h t t", (2, 2, 3), (3, 2, 4), (2, 3, 5), scale=1.5, then=lambda x: (x.softmax(-1),)),
        mistakes=[
            Mistake("wrong order", "mixed @ rollout", "rollout @ mixed",
                    "The product runs the wrong way round. Row t of a layer's map says how token t mixes the tokens of the layer below, so later layers go on the left."),
            Mistake("no residual", "(layer + identity) / 2", "layer",
                    "The residual connection is missing. A token keeps its own vector and adds what attention found, so mix in the identity."),
            Mistake("not halved", "(layer + identity) / 2", "layer + identity",
                    "Each row of a layer sums to 2 now. Divide by 2, so that it sums to 1."),
            Mistake("a layer by itself", "mixed @ rollout", "mixed @ mixed",
                    "Each layer is multiplied by itself, and only the last one counts. Multiply by the product so far."),
            Mistake("last layer only", "mixed @ rollout", "mixed",
                    "Each round of the loop overwrites the product so far. Multiply by that product instead."),
            Mistake("layers added", "mixed @ rollout", "mixed + rollout",
                    "The layers were added up. One layer reads what the layer below wrote, so the maps are multiplied."),
        ],
        also_right=[
            lambda weights: functools.reduce(
                lambda below, layer: 0.5 * layer.mean(0) @ below + 0.5 * below, weights,
                torch.eye(weights.shape[-1]),
            ),
        ],
        hints=["weights.mean(1) averages the heads. Then loop over the layers.",
               "mixed = (layer + torch.eye(T)) / 2 is one layer with its residual connection.",
               "rollout = mixed @ rollout, starting from torch.eye(T)."],
        look_at="Values, feed-forward networks and norms don't appear in a rollout at all. It shows where the weight went but not what was passed on.",
    ),
    Exercise(
        name="vit_parameters", title="count a Vision Transformer",
        task="Count all numbers that a ViT learns: patch projection, class token, positions, the layers with their biases and norms, the last norm, and the head.",
        minutes=6, difficulty=3, importance=3,
        reference=vit_parameters, draw=lambda generator: [
            (4, 2, 1, 3, 8, 1, 16), (28, 4, 1, 10, 96, 4, 192), (32, 8, 3, 10, 64, 6, 256),
            (224, 16, 3, 1000, 768, 12, 3072)],
        mistakes=[
            Mistake("one vector short", "(n_patches + 1) * d_model", "n_patches * d_model",
                    "Exactly D numbers are missing. These have that size: the class token, its own row in the table of positions, the bias of the patch projection, and the gain and the bias of the last norm."),
            Mistake("patches not squared", "(image_size // patch_size) ** 2", "image_size // patch_size",
                    "That's the number of patches along one side. The whole grid has the square of that number."),
            Mistake("channels forgotten", "n_channels * patch_size**2", "patch_size**2",
                    "A patch holds P · P numbers per channel."),
            Mistake("no biases in the feed-forward network", "d_model * d_ff + d_ff + d_ff * d_model + d_model", "d_model * d_ff + d_ff * d_model",
                    "Both linear layers of the feed-forward network have a bias, of d_ff and of D numbers."),
            Mistake("one norm per layer", "2 * (d_model + d_model)", "d_model + d_model",
                    "Exactly 2 · D numbers are missing per layer. A layer has two norms, one per sublayer, and each learns a gain and a bias, D numbers each, which makes 4 · D."),
            Mistake("no last norm", "last = d_model + d_model + d_model", "last = d_model",
                    "A pre-norm model has one more norm after the last layer: 2 · D numbers."),
        ],
        also_right=[_parameters_in_one_sum],
        hints=["A linear layer from a to b has a · b + b numbers, and a norm has 2 · D.",
               "Outside the layers: the projection C·P²·D + D, the class token D, positions (N + 1)·D, the last norm 2·D, the head D·n_classes + n_classes.",
               "Per layer: 4 · (D² + D) + (D·F + F) + (F·D + D) + 2 · 2D."],
        look_at="The number of heads isn't an argument, because with more heads each one is narrower. The patch size matters only for the projection and the positions.",
    ),
]
