"""How the site is built: `python -m sphinx -W --keep-going -n docs docs/_build/html`. No request leaves the pages."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import matplotlib

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE / "_ext"), str(ROOT)]
matplotlib.use("Agg")

import qpsvm  # noqa: E402  (the copy beside these pages, not one that is installed)


def copy_notebooks() -> None:
    """Sphinx reads pages below this folder only; a copy keeps its time while the notebook is what it was."""
    target = HERE / "notebooks"
    target.mkdir(exist_ok=True)
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        copy = target / notebook.name
        if not copy.exists() or copy.read_bytes() != notebook.read_bytes():
            shutil.copyfile(notebook, copy)


copy_notebooks()

project = "qpsvm"
author = "The qpsvm founders"
copyright = "2026, the qpsvm founders"
version = release = qpsvm.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "equations",
    "derivation",
    "run",
    "names",
    "chapters",
    "summaries",
]
exclude_patterns = ["_build", "**/.ipynb_checkpoints", "gallery/*", "pictures_gallery/*.ipynb"]
templates_path = ["_templates"]
default_role = "code"
nitpicky = True
nitpick_ignore = [  # Python's own pages are on another site
    ("py:class", "abc.ABC"), ("py:class", "collections.abc.Sequence"), ("py:class", "enum.StrEnum"),
]  # fmt: skip
nitpick_ignore_regex = [("py:.*", r"sklearn\..*")]  # and so are scikit-learn's

# Markdown and notebooks. The notebooks are shown as they are committed: the tests run them.
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb", ".ipynb": "myst-nb"}  # the first is what is generated
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
myst_update_mathjax = False
nb_execution_mode = "off"
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
nb_render_markdown_format = "myst"
suppress_warnings = ["mystnb.unknown_mime_type"]

# The API, from the docstrings.
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "pictures_gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "api/examples",
    "doc_module": ("qpsvm",),
    "reference_url": {"qpsvm": None},
    "show_memory": False,
    "thumbnail_size": (640, 448),
    "min_reported_time": 1e9,
    "download_all_examples": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "plot_gallery": "True",
    "write_computation_times": False,
    "capture_repr": (),
}

html_theme = "pydata_sphinx_theme"
html_title = "qpsvm"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/mark.svg"
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_use_index = True
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "qpsvm", "image_light": "_static/mark.svg", "image_dark": "_static/mark.svg"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "default",
    "pygments_dark_style": "github-dark",
}
html_sidebars = {
    "index": [],
    "chapters": [],
    "install": [],
    "quick_start": [],
    "changelog": [],
    "citing": [],
    "benchmarks": [],
}
copybutton_exclude = ".linenos, .gp, .go"
copybutton_selector = "div.highlight-python pre, div.highlight-sh pre, div.highlight-Python pre, div.cell_input pre"
