"""What a widget shows where no kernel runs: GitHub, exported HTML, a notebook just opened."""

from IPython.display import display


class StaticFallback:
    """Put a static picture of the same content beside a widget's live view.

    Front ends choose: with a kernel they show the live view, without one the HTML. Mix it in
    before the widget class and define `static_html`. ipywidgets 8 asks a widget for a bundle,
    ipywidgets 7 (Colab's) asks it to display itself; both ways are answered here.
    """

    def static_html(self):
        """Return HTML for the widget as it stands, pictures with alt text."""
        raise NotImplementedError

    def __repr__(self):
        """A name and nothing else: an address would differ from run to run."""
        return f"{type(self).__name__}()"

    def _repr_mimebundle_(self, **kwargs):
        bundle = {"text/plain": repr(self), "text/html": self.static_html()}
        if self._view_name is not None:
            view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
            bundle["application/vnd.jupyter.widget-view+json"] = view
        return bundle

    def _ipython_display_(self, **kwargs):
        display(self._repr_mimebundle_(), raw=True)
