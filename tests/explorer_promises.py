"""What every explorer keeps to, whatever it explores."""

import html
import json
import re
from xml.etree import ElementTree


def check_that_every_change_shows(widget, changes):
    """Each part of the state changes the picture when it is set, and a reset brings it back."""
    first = widget.svg
    others = set(widget.traits(state=True)) - set(changes)
    assert all(widget.controls[name].hidden for name in others), "what is in view shows"
    for name, value in changes.items():
        widget.take({name: value})  # what a hand on its control does, or in the picture
        assert getattr(widget, name) == value
        assert widget.svg != first, name
        # A hand can move it: by a control, or in the picture.
        assert name in widget.controls or f"&quot;{name}&quot;" in widget.svg, name
        widget.reset()
        assert widget.svg == first, name


def check_the_still_picture(widget):
    """The still picture has words and letters of a readable size; give its height."""
    assert repr(widget) == f"{type(widget).__name__}()"
    assert re.search(r'<img alt="[^"]{40,}"', widget.static_html())
    assert min(map(float, re.findall(r'font-size="([\d.]+)"', widget.svg)), default=16) >= 16
    assert "nan" not in re.sub(r"base64,[^\"]+", "", widget.svg)
    ElementTree.fromstring(widget.svg)
    names = re.findall(r'aria-label="([^"]*)" data-set', widget.svg)
    assert sorted(set(names)) == sorted(names), "who hears them knows which is which"
    return float(re.search(r'viewBox="0 0 \S+ ([\d.]+)"', widget.svg)[1])


def clicks(widget):
    """List what a click on each target of the picture sets."""
    found = re.findall(r'data-set="([^"]*)"', widget.svg)
    return [json.loads(html.unescape(data)) for data in found]


def send(widget, **content):
    """Hand a message to a widget as the browser does."""
    widget._handle_custom_msg(content, [])
