"""For mkdocs: the pages and figures of results/ and bench/, which docs/ links to, come to the site too."""

import os
import posixpath
import re

from mkdocs.structure.files import File, Files

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BESIDE = ("results", "bench")  # folders beside docs/, which on the site are in it
SHOWN = (".md", ".svg", ".png", ".py")
NOT_SHOWN = ("Doxyfile", "doxygen_filter.py", "site_hook.py")
LINK = re.compile(r"(!?\[[^\]\n]*\]\()([^)#\s]+)")


def on_files(files, config):
    """Those of docs/ that are for readers, and those beside it."""
    kept = [f for f in files if f.src_path not in NOT_SHOWN]
    for folder in BESIDE:
        for place, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in sorted(names):
                if name.endswith(SHOWN):
                    path = os.path.relpath(os.path.join(place, name), ROOT)
                    kept.append(File(path, ROOT, config["site_dir"], config["use_directory_urls"]))
    return Files(kept)


def on_page_markdown(markdown, page, config, files):
    """Links between docs/ and the folders beside it, as they are on the site; a folder is its README.md."""
    here = page.file.src_path.replace(os.sep, "/")
    from_beside = here.split("/")[0] in BESIDE
    folder = posixpath.dirname(here if from_beside else "docs/" + here)

    def settle(found):
        if re.match(r"[a-z]+:", found[2]):
            return found[0]
        target = posixpath.normpath(posixpath.join(folder, found[2]))
        if os.path.isfile(os.path.join(ROOT, target, "README.md")):
            target += "/README.md"
        target = re.sub("^docs/", "", target)
        return found[1] + posixpath.relpath(target, posixpath.dirname(here) or ".")

    return LINK.sub(settle, markdown)
