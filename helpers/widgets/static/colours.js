// The course's one table of colours: JavaScript imports it, Python and the style sheets read it
// (`colours.py`; what follows the equals sign is JSON). A ramp starts at zero; a signed one ends in
// the most negative number at its left, orange, and in the most positive at its right, blue.

export const COLOURS = {
  "light": {
    "paper": "#ffffff", "ink": "#1d2733", "muted": "#5b6570", "rule": "#dde2e7", "soft": "#f1f4f7",
    "query": "#1f6fb2", "key": "#b25a06", "value": "#22784f", "result": "#7a4fa3", "bad": "#b3261e",
    "second": "#b8326b", "field": "#7d8894", "chosen": "#ffffff", "below": "#d9730d",
    "lane": "#c9d2dc", "box": "#f5f8fb", "edge": "#c3cedb", "tint": "#e9f1fa", "warm": "#fbf1e6",
    "masked": "#e4e8ed", "hatch": "#b9c2cc", "veil": "rgba(255,255,255,0.62)",
    "weights": ["#f3f8fd", "#1f6fb2", "#08306b"],
    "signed": ["#7f3b00", "#d9730d", "#f4f5f7", "#1f6fb2", "#08306b"]
  },
  "dark": {
    "paper": "#12181f", "ink": "#e8edf2", "muted": "#a3afbb", "rule": "#2c3742", "soft": "#1c252e",
    "query": "#6db3f2", "key": "#f2a355", "value": "#5fd0a0", "result": "#c39be8", "bad": "#ff8a80",
    "second": "#f08ab8", "field": "#7d8894", "chosen": "#35424f", "below": "#f2a355",
    "lane": "#3a4856", "box": "#18212b", "edge": "#3d4c5b", "tint": "#1a2a3a", "warm": "#2c241b",
    "masked": "#232c36", "hatch": "#465462", "veil": "rgba(18,24,31,0.58)",
    "weights": ["#1a2530", "#2f7fc4", "#eef7ff"],
    "signed": ["#ffb066", "#d9762a", "#202a35", "#3f8fe0", "#8fc4ff"]
  }
};
