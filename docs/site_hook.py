"""For mkdocs: README.md is the first page, and the pages and figures of results/ and bench/, which docs/ links to, come to the site too."""

import os
import posixpath
import re

from mkdocs.structure.files import File, Files

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BESIDE = ("results", "bench")  # folders beside docs/, which on the site are in it
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
SHOWN = (".md", ".svg", ".png", ".py")
NOT_SHOWN = ("Doxyfile", "doxygen_filter.py", "site_hook.py")
LINK = re.compile(r"(!?)\[([^\]\n]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files, config):
    """Those of docs/ that are for readers, and those beside it."""
    kept = [f for f in files if f.src_path not in NOT_SHOWN]
    kept += [File(page, ROOT, config["site_dir"], config["use_directory_urls"]) for page in PAGES]
    for folder in BESIDE:
        for place, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in sorted(names):
                if name.endswith(SHOWN):
                    path = os.path.relpath(os.path.join(place, name), ROOT)
                    kept.append(File(path, ROOT, config["site_dir"], config["use_directory_urls"]))
    return Files(kept)


def on_page_markdown(markdown, page, config, files):
    """Links between docs/ and what is beside it, as they are on the site; a folder is its README.md, and of what stands in the
    tree only the words are left."""
    here = page.file.src_path.replace(os.sep, "/")
    from_beside = here in PAGES or here.split("/")[0] in BESIDE
    folder = posixpath.dirname(here if from_beside else "docs/" + here)

    def settle(found):
        picture, words, link, anchor = found.groups(default="")
        if re.match(r"[a-z]+:", link):
            return found[0]
        target = posixpath.normpath(posixpath.join(folder, link))
        if os.path.isfile(os.path.join(ROOT, target, "README.md")):
            target += "/README.md"
        there, target = os.path.join(ROOT, target), re.sub("^docs/", "", target)
        if files.get_file_from_path(target) is None and os.path.exists(there):
            return words
        return f"{picture}[{words}]({posixpath.relpath(target, posixpath.dirname(here) or '.')}{anchor})"

    return LINK.sub(settle, markdown)
