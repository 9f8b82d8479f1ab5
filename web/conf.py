"""What Sphinx is told; `build.py` prepares the pages, puts this file beside them and calls it."""

project = "Attention and Transformers, by hand"
author = "the course's authors"
html_title = "Attention and Transformers"
html_favicon = "static/favicon.svg"
language = "en-GB"

extensions = ["myst_nb", "sphinx.ext.mathjax"]
nb_execution_mode = "off"  # the notebooks hold their outputs
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
# A lesson's headings may skip a level, as in JupyterLab; colours of a printed list are no error.
suppress_warnings = ["myst.header", "misc.highlighting_failure"]

html_theme = "furo"
html_static_path = ["static"]  # made by build.py
html_css_files = ["model_map.css", "prediction.css", "site.css"]
html_js_files = [
    ("theme.js", {}),
    ("predictions.js", {"type": "module"}),
    ("try_it.js", {"type": "module"}),
]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False  # the licences are in the repository
html_theme_options = {"navigation_with_keys": False}  # arrow keys belong to the widgets
mathjax_path = "mathjax.js"
# Without its menu a formula is no stop for the Tab key.
mathjax3_config = {"options": {"enableMenu": False}}
