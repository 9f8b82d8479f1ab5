"""The recipe of the drumming on board: MIDI files in, one small file of strokes out.

``python -m recipes.drums FOLDER`` reads the Groove MIDI Dataset, unpacked, and
writes ``helpers/data/real/drums.npz``. It needs mido (``pip install mido``), which nothing else in
the course does.
"""

import argparse
import csv
from pathlib import Path

import numpy

from helpers.data.drums import FILE, VOICES
from helpers.machine.atomic_writes import atomic_write

# Which of our nine voices a note of the drum kit counts as, after Gillick et al. (2019), appendix.
NOTES = {
    "kick": (36,),
    "snare": (38, 40, 37),
    "closed hi-hat": (42, 22, 44),
    "open hi-hat": (46, 26),
    "low tom": (43, 58),
    "middle tom": (47, 45),
    "high tom": (50, 48),
    "crash": (49, 52, 55, 57),
    "ride": (51, 53, 59),
}
VOICE_OF = {note: VOICES.index(name) for name, notes in NOTES.items() for note in notes}


def strokes(path: Path):
    """Read the strokes of one MIDI file: an integer array of shape (n, 4).

    A row holds sixteenth note, voice, velocity from 1 to 127, and how late the stroke is, in
    hundredths of a sixteenth.
    """
    import mido

    midi = mido.MidiFile(path)
    found = []
    for track in midi.tracks:
        ticks = 0
        for message in track:
            ticks += message.time
            if message.type == "note_on" and message.velocity > 0 and message.note in VOICE_OF:
                exact = ticks / (midi.ticks_per_beat / 4)
                step = round(exact)
                late = round(100 * (exact - step))
                found.append((step, VOICE_OF[message.note], message.velocity, late))
    return numpy.array(sorted(found), dtype=numpy.int32).reshape(-1, 4)


def main(arguments: list[str] | None = None):
    """Read a folder of MIDI files and write the strokes."""
    parser = argparse.ArgumentParser(prog="python -m recipes.drums", description=__doc__)
    parser.add_argument("folder", type=Path, help="with info.csv in it")
    parser.add_argument("--out", type=Path, default=FILE)
    options = parser.parse_args(arguments)
    with (options.folder / "info.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if row["beat_type"] == "beat" and row["time_signature"] == "4-4"
        ]
    pieces = [strokes(options.folder / row["midi_filename"]) for row in rows]
    kept = [(row, piece) for row, piece in zip(rows, pieces, strict=True) if len(piece)]
    together = numpy.concatenate([piece for _, piece in kept])
    # The distance to the stroke before takes one byte where the place would take two.
    steps = numpy.concatenate([numpy.diff(piece[:, 0], prepend=0) for _, piece in kept])
    with atomic_write(options.out) as partial, partial.open("wb") as file:
        numpy.savez_compressed(
            file,
            wait=steps.astype(numpy.uint16),
            voice=together[:, 1].astype(numpy.uint8),
            velocity=(together[:, 2] // 8 * 8).astype(numpy.uint8),  # sixteen loudnesses
            late=(numpy.round(together[:, 3] / 10)).astype(numpy.int8),  # tenths of a sixteenth
            length=numpy.array([len(piece) for _, piece in kept], dtype=numpy.uint16),
            genre=numpy.array([row["style"].partition("/")[0] for row, _ in kept]),
            drummer=numpy.array([int(row["drummer"].removeprefix("drummer")) for row, _ in kept]),
            bpm=numpy.array([int(row["bpm"]) for row, _ in kept], dtype=numpy.uint16),
            split=numpy.array([row["split"] for row, _ in kept]),
        )
    size = options.out.stat().st_size / 1e6
    print(f"{len(kept)} performances, {len(together):,} strokes, {size:.2f} MB: {options.out}")


if __name__ == "__main__":
    main()
