"""The words of the toy corpus. Each French word has one English word, and the other way round."""

from typing import NamedTuple


class Noun(NamedTuple):
    """A noun, `fr`, `fr_plural`, `en`, `en_plural`; `feminine` is its French gender."""

    fr: str
    fr_plural: str
    en: str
    en_plural: str
    feminine: bool


class Adjective(NamedTuple):
    """The French forms of an adjective, `masculine` and `feminine`, and its English one, `en`.

    `before` says that it stands before the French noun; `masculine_vowel` is the masculine form
    before a vowel, where that differs (*vieil*). `opinion` says that English puts it before the
    others (*a curious young girl*).
    """

    masculine: str
    feminine: str
    en: str
    before: bool = False
    masculine_vowel: str = ""
    opinion: bool = False

    def form(self, feminine, plural):
        """Return the French form; plural forms take an s unless they end in one or in x."""
        word = self.feminine if feminine else self.masculine
        return word + "s" if plural and word[-1] not in "sx" else word


class Verb(NamedTuple):
    """Third person: `fr`, `fr_plural`; in English the singular `en` and the bare form `en_bare`."""

    fr: str
    fr_plural: str
    en: str
    en_bare: str


PEOPLE = (
    Noun("fille", "filles", "girl", "girls", True),
    Noun("garçon", "garçons", "boy", "boys", False),
    Noun("femme", "femmes", "woman", "women", True),
    Noun("homme", "hommes", "man", "men", False),
    Noun("voisine", "voisines", "neighbour", "neighbours", True),
    Noun("médecin", "médecins", "doctor", "doctors", False),
    Noun("reine", "reines", "queen", "queens", True),
    Noun("facteur", "facteurs", "postman", "postmen", False),
)
ANIMALS = (
    Noun("chien", "chiens", "dog", "dogs", False),
    Noun("chat", "chats", "cat", "cats", False),
    Noun("cheval", "chevaux", "horse", "horses", False),
    Noun("vache", "vaches", "cow", "cows", True),
    Noun("oiseau", "oiseaux", "bird", "birds", False),
    Noun("tortue", "tortues", "turtle", "turtles", True),
    Noun("poule", "poules", "hen", "hens", True),
    Noun("chèvre", "chèvres", "goat", "goats", True),
    Noun("lapin", "lapins", "rabbit", "rabbits", False),
)
THINGS = (
    Noun("voiture", "voitures", "car", "cars", True),
    Noun("livre", "livres", "book", "books", False),
    Noun("chaise", "chaises", "chair", "chairs", True),
    Noun("sac", "sacs", "bag", "bags", False),
    Noun("lettre", "lettres", "letter", "letters", True),
    Noun("vélo", "vélos", "bicycle", "bicycles", False),
    Noun("lampe", "lampes", "lamp", "lamps", True),
    Noun("ballon", "ballons", "ball", "balls", False),
    Noun("table", "tables", "table", "tables", True),
    Noun("gâteau", "gâteaux", "cake", "cakes", False),
    Noun("fleur", "fleurs", "flower", "flowers", True),
    Noun("chapeau", "chapeaux", "hat", "hats", False),
)
# Places one can cross, and that can be too wide to be crossed.
WAYS = (
    Noun("rue", "rues", "street", "streets", True),
    Noun("pont", "ponts", "bridge", "bridges", False),
    Noun("route", "routes", "road", "roads", True),
    Noun("chemin", "chemins", "path", "paths", False),
    Noun("place", "places", "square", "squares", True),
)
# Places one can be in.
ROOMS = (
    Noun("jardin", "jardins", "garden", "gardens", False),
    Noun("parc", "parcs", "park", "parks", False),
    Noun("forêt", "forêts", "forest", "forests", True),
)
# Places one can also be in front of, and behind.
BUILDINGS = (
    Noun("maison", "maisons", "house", "houses", True),
    Noun("château", "châteaux", "castle", "castles", False),
    Noun("école", "écoles", "school", "schools", True),
)

SIZES = (
    Adjective("petit", "petite", "little", True),
    Adjective("grand", "grande", "big", True),
    Adjective("vieux", "vieille", "old", True, "vieil"),
)
# "Une vieille fille" is a spinster and "un grand homme" a great man: people take other adjectives.
AGES = (Adjective("jeune", "jeune", "young", True),)
MOODS = (
    Adjective("curieux", "curieuse", "curious", opinion=True),
    Adjective("sérieux", "sérieuse", "serious", opinion=True),
)
COLOURS = (
    Adjective("rouge", "rouge", "red"),
    Adjective("noir", "noire", "black"),
    Adjective("blanc", "blanche", "white"),
    Adjective("vert", "verte", "green"),
    Adjective("jaune", "jaune", "yellow"),
    Adjective("bleu", "bleue", "blue"),
    Adjective("gris", "grise", "grey"),
)
COLOURS_OF_ANIMALS = (COLOURS[1], COLOURS[2], COLOURS[6])

# What only an animal can be too much of, and what only a way can. ("Dangerous" would fit both.)
STATES_OF_ANIMALS = (
    Adjective("fatigué", "fatiguée", "tired"),
    Adjective("malade", "malade", "ill"),
    Adjective("effrayé", "effrayée", "frightened"),
)
STATES_OF_WAYS = (
    Adjective("large", "large", "wide"),
    Adjective("encombré", "encombrée", "crowded"),
    Adjective("glissant", "glissante", "slippery"),
)

ALONE = (  # needs no object
    Verb("dort", "dorment", "sleeps", "sleep"),
    Verb("court", "courent", "runs", "run"),
    Verb("mange", "mangent", "eats", "eat"),
    Verb("attend", "attendent", "waits", "wait"),
    Verb("chante", "chantent", "sings", "sing"),
    Verb("danse", "dansent", "dances", "dance"),
)
TOWARDS = (  # takes anybody or anything as its object
    Verb("voit", "voient", "sees", "see"),
    Verb("regarde", "regardent", "watches", "watch"),
    Verb("cherche", "cherchent", "looks for", "look for"),
    Verb("trouve", "trouvent", "finds", "find"),
    Verb("touche", "touchent", "touches", "touch"),
)
FOLLOWS = Verb("suit", "suivent", "follows", "follow")  # nobody follows a lamp
TOWARDS_THINGS = (
    Verb("cache", "cachent", "hides", "hide"),
    Verb("achète", "achètent", "buys", "buy"),
    Verb("vend", "vendent", "sells", "sell"),
    Verb("dessine", "dessinent", "draws", "draw"),
)
CROSSES = Verb("traverse", "traversent", "crosses", "cross")

INSIDE = ("dans", "in")
OUTSIDE = (INSIDE, ("devant", "in front of"), ("derrière", "behind"))
WHILE = ("pendant que", "while")
JOINTS = (("et", "and"), ("mais", "but"), WHILE)
