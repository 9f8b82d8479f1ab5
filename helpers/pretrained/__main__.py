"""Write the larger models once, for all kernels of a server to share.

python -m helpers.pretrained FOLDER
"""

import argparse

from helpers.pretrained import shared, smollm, storyteller, translator


def main(arguments: list[str] | None = None):
    """Write the files of the larger models."""
    parser = argparse.ArgumentParser(prog="python -m helpers.pretrained")
    parser.add_argument("folder", help="where kernels will find them")
    folder = parser.parse_args(arguments).folder
    shared.write(translator.load_translator().model, translator.TRANSLATOR, folder)
    shared.write(storyteller.load_storyteller().model, storyteller.STORYTELLER, folder)
    smollm.convert_for_all(folder)


if __name__ == "__main__":
    main()
