"""axe-core looks for barriers in what our cells show: in JupyterLab, light and dark."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from samples import once_a_week

CELLS = [
    """
from IPython.display import display
from helpers import exercises
from helpers.transformer import masks
from helpers.pretrained.translator import load_translator
from helpers.widgets.attention_view import attention_view
from helpers.widgets.mask_builder import MaskBuilder
from helpers.widgets.model_map import model_map
from helpers.widgets.softmax_scale import SoftmaxTemperature
translator = load_translator()
sentence = "Un chien noir court."
""",
    "model_map(translator.trace(sentence))",
    "model_map(translator.trace(sentence))",  # landmarks of two maps must differ
    "attention_view(translator.attend(sentence))",
    "MaskBuilder()",
    "SoftmaxTemperature()",  # a second one: what two share, they share wrongly
    "MaskBuilder()",
    "exercises.predict('twice_the_length')",
    "exercises.reveal('twice_the_length', measured='four')",
    "exercises.quiz('shapes_in_the_paper')",
    "exercises.warm_up(4)",
    "display(exercises.heading('causal_mask'))\n"
    "exercises.check('causal_mask', lambda length: ~masks.causal_mask(length))",
    "exercises.progress()",
]
OUTPUTS = {"include": [[".jp-OutputArea-output"]]}
# JupyterLab's body has no height, so that axe would take all in it for hidden; what is scrolled
# away, too.
SEEN = "html, body { height: 100% !important; overflow: visible !important; }"
UNROLL = """() => {
  const { content } = jupyterapp.shell.currentWidget;
  content.notebookConfig = { ...content.notebookConfig, windowingMode: "none" };
  const outputs = [...content.node.querySelectorAll(".jp-OutputArea-output")];
  const seen = outputs.filter((one) => one.offsetHeight);
  const pale = '<p class="planted" style="color: #ccc; background: #fff">Hardly read.</p>';
  for (const one of [seen[0], seen.at(-1)]) one.insertAdjacentHTML("beforeend", pale);
  content.node.scrollTop = 0;
  return 400 + Math.ceil(content.node.querySelector(".jp-WindowedPanel-inner").scrollHeight);
}"""
# The rules that read colours: nothing else differs between light and dark.
OF_COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}


def barriers(page, **options):
    """Return what axe finds in the outputs on the page, however slight."""
    options["resultTypes"] = ["violations"]
    found = Axe().run(page, context=OUTPUTS, options=options).response["violations"]
    return [
        (broken["id"], node["html"][:160], node.get("failureSummary", "")[:300])
        for broken in found
        for node in broken["nodes"]
    ]


@pytest.mark.parametrize("dark", once_a_week([False, True], [False]))
def test_nothing_that_our_cells_show_shuts_anybody_out(open_notebook, dark):
    page = open_notebook(CELLS, dark=dark, size=(1280, 5000))
    for alive in (".mm-stage[data-painted]", ".av-field canvas", ".course-explorer svg"):
        page.wait_for_selector(alive)
    assert page.locator(".jp-OutputArea-output").count() >= len(CELLS)
    buttons = page.locator(".course-quiz button")
    names = buttons.evaluate_all("all => all.map((one) => one.ariaLabel)")
    assert len(set(names)) == len(names) > 12
    seen = page.add_style_tag(content=SEEN)
    page.set_viewport_size({"width": 1280, "height": page.evaluate(UNROLL)})
    page.wait_for_timeout(500)
    found = barriers(page, **({"runOnly": OF_COLOURS} if dark else {}))
    seen.evaluate("style => style.remove()")
    # Only what was planted, above and below: axe sees all of the page.
    assert [rule for rule, *_ in found] == ["color-contrast"] * 2, found
    assert all("planted" in html for _, html, _ in found), found
