# Sphinx: guide and internals from Markdown, the reference of C and C++ by way of Doxygen's XML.
import os

project = "taquin"
author = "taquin maintainers"
copyright = "2026, taquin maintainers"
version = release = os.environ["TAQUIN_VERSION"]
extensions = ["myst_parser", "breathe", "sphinxcontrib.mermaid"]
# The script lies beside the pages; figures.js starts it in the theme of the reader.
mermaid_version = ""
mermaid_init_js = ""
breathe_projects = {"taquin": os.environ["TAQUIN_XML"]}
breathe_default_project = "taquin"
breathe_domain_by_extension = {"h": "c", "hpp": "cpp"}
myst_heading_anchors = 3
exclude_patterns = ["results/**/*.md"]
html_theme = "furo"
html_title = f"taquin {version}"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["static"]
html_css_files = ["wide.css"]
html_js_files = ["mermaid.min.js", "figures.js"]
html_static_path += [os.environ["TAQUIN_FIGURES"]]
nitpicky = False
