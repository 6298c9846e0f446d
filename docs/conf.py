# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How the documentation is built: ``make docs``. Nothing is fetched from a network."""

import atexit
import logging
import os
import shutil
import sys
import tempfile
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
# Kernels that run examples find the commands of this environment, and do not repeat
# what ArviZ and tqdm have to say about themselves.
os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
os.environ["PYTHONWARNINGS"] = "ignore:IProgress not found,ignore::FutureWarning"

# They read no settings of whoever builds, and keep quiet about how they are spoken to.
PROFILE = Path(tempfile.mkdtemp(prefix="dpmcmc-docs-"), "profile_default")
(PROFILE / "startup").mkdir(parents=True)
shutil.copy(HERE / "_ext" / "kernel_startup.py", PROFILE / "startup")
(PROFILE / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 40\n")
os.environ["IPYTHONDIR"] = os.environ["TMPDIR"] = str(PROFILE.parent)
atexit.register(shutil.rmtree, PROFILE.parent, ignore_errors=True)
logging.getLogger("traitlets").setLevel(logging.WARNING)  # no line for each example

project = "dpmcmc"
author = "The dpmcmc authors"
project_copyright = "2026, The dpmcmc authors"
version = release = version_of("dpmcmc")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "commands",
    "docstrings",
    "formulas",
    "guarantees",
    "references",
]
exclude_patterns = ["_build", "_ext"]
default_role = "py:obj"

# Markdown. Pages are read on the repository too, so they use little beyond tables.
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

# Examples run at build time; one that fails, fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600  # a busy machine
nb_execution_show_tb = True
nb_merge_streams = True

# The reference.
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_type_aliases = {  # names that the code imports for type checkers only
    "Figure": "matplotlib.figure.Figure",
    "InferenceData": "arviz.InferenceData",
}
autodoc_default_options = {"members": True, "exclude-members": "__init__, __new__"}
autoclass_content = "class"
napoleon_google_docstring = False
napoleon_custom_sections = ["Guarantee"]
napoleon_use_rtype = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 72
add_module_names = False

html_theme = "furo"
html_title = "dpmcmc"
html_static_path = ["_static"]
html_css_files = ["dpmcmc.css"]
html_copy_source = False
html_show_sourcelink = False
