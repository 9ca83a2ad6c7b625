#!/usr/bin/env python3
"""check_tree.py CHECK [ROOT]: hold the tree to its own rules. Prints each breach, exits 1 on any.

  includes  rooms include only the rooms they may, and each outside library stays in its file
  names     file names are unique in the tree
  paths     no text file names a path of somebody's machine
  headers   each public header compiles alone, in C and in C++, and waymark.h has all of them
  idents    no identifier that files share is defined twice in src/ and include/
  words     messages of the library name no option of the command
  drawing   the drawing of the rooms in CONTRIBUTING.md is that of the includes
"""

import os
import re
import shutil
import subprocess
import sys

# --- includes: a room may open itself and the rooms named here -----------------------------------

LOW = {"base"}
NETS = LOW | {"engine"}
ROOMS = {
    "base": set(),
    "data": LOW, "waymarks": LOW, "optim": LOW, "sample": LOW | {"check"}, "engine": LOW, "dist": LOW,
    "problems": LOW | {"data"}, "images": LOW | {"data"},
    "nn": NETS, "noise": NETS | {"nn"},
}
ROOMS["columns"] = NETS | {"data", "waymarks"}
ROOMS["moments"] = NETS | {"data", "waymarks", "optim"}
ROOMS["train"] = ROOMS["moments"] | {"nn", "noise", "dist"}
ROOMS["check"] = LOW | {"data"}
ROOMS["ratio"] = ROOMS["train"] | {"columns", "moments", "train", "check"}
ROOMS["study"] = ROOMS["ratio"] | {"ratio", "report"}
ROOMS["mi"] = ROOMS["study"] | {"study"}
ROOMS["ebm"] = ROOMS["train"] | {"columns", "train", "check", "sample"}
ROOMS["embed"] = ROOMS["train"] | {"columns", "train", "check", "images"}
ROOMS["report"] = LOW | {"data", "images"}

# A public header belongs to the room that implements it; waymark.h is for users alone.
HEADER_ROOM = {
    "status": "base", "sink": "base", "version": "base", "data": "data", "read": "data",
    "write": "data", "fit": "base", "dist": "dist", "check": "check",
    "generators": "problems", "images": "images", "waymarks": "waymarks", "sample": "sample",
    "columns": "columns", "moments": "moments", "ratio": "ratio", "apply": "ratio", "weights": "ratio", "study": "study",
    "mi": "mi", "ebm": "ebm", "embed": "embed", "probe": "embed", "report": "report",
}

# Folders that see the public headers and their own files, nothing private.
CLIENTS = ("cli", "reproduce", "examples", "python", "tools")

# Headers of other projects: (what <...> says, the files that may say it).
FENCED = [
    (r"(cblas|lapacke?|openblas_config|f77blas)\.h", r"src/engine/backend/(blas|linalg)\.[ch]"),
    (r"lbfgs\.h", r"src/optim/lbfgs\.c"),
    (r"Random123/.*", r"src/base/rng\.c"),
    (r"jansson\.h", r"src/data/formats/safetensors(_sums)?\.c|src/data/table/schema_json\.c|src/report/json\.h|cli/options/opt\.c"),
    (r"popt\.h", r"cli/options/opt\.c"),
    (r"zip\.h", r"src/data/formats/npz\.c|src/images/zip_images\.c"),
    (r"png\.h", r"src/images/png_read\.c|src/report/figure/image_grid\.c"),
    (r"zlib\.h", r"src/data/formats/bytes\.c"),
    (r"Python\.h", r"python/core/py_args\.h"),
    (r"mpi\.h", r"src/dist/comm_mpi\.c"),
    (r"pthread\.h", r"python/core/py_call\.c"),
    (r"(immintrin|x86intrin|cpuid|arm_neon|arm_sve)\.h", r"src/engine/.*"),
]

# What every file may use: C11, a little POSIX, OpenMP.
SYSTEM = set(
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal "
    "stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath time "
    "uchar wchar wctype dlfcn fcntl glob unistd dirent fnmatch omp poll sys/mman sys/resource sys/stat sys/time sys/types "
    "sched spawn sys/ioctl sys/utsname sys/wait".split())

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>|(.*))', re.M)


def place(path):
    """('room', r) for src/r/..., ('public', header) for include/waymark/x.h, ('client', folder)."""
    parts = path.split("/")
    if parts[0] == "src" and len(parts) > 2:
        return "room", parts[1]
    if parts[:2] == ["include", "waymark"]:
        return "public", os.path.splitext(parts[-1])[0]
    if parts[0] in CLIENTS:
        return "client", parts[0]
    return "other", parts[0]


def resolve(root, path, name):
    """The file an #include "name" in path opens, as the compiler would find it, or None."""
    for base in (os.path.dirname(path), "src", "include", "cli", "."):
        found = os.path.normpath(os.path.join(base, name)).replace(os.sep, "/")
        if os.path.isfile(os.path.join(root, found)):
            return found
    return None


def refuse_quoted(path, target):
    """Why path may not include target, or None."""
    kind, room = place(path)
    to_kind, to = place(target)
    if to_kind == "public":
        if kind == "client" or (kind == "public" and room == "waymark"):
            return None
        if to == "waymark":
            return "waymark.h is for users; include the header that is needed"
        if to not in HEADER_ROOM:
            return f"public header '{to}.h' has no room yet: give it one in HEADER_ROOM"
        to_kind, to = "room", HEADER_ROOM[to]
        if kind == "public":
            kind, room = "room", HEADER_ROOM.get(room)
            if room is None:
                return f"public header '{os.path.basename(path)}' has no room yet"
    if kind == "client":
        folder = target.split("/")[0]
        if folder == room or (room, folder) in (("cli", "reproduce"), ("tools", "cli")):
            return None
        return f"{room}/ sees only include/waymark and its own files"
    if kind == "public":
        return "a public header includes public headers only"
    if kind == "room" and to_kind == "room":
        if room not in ROOMS:
            return f"room '{room}' is not in the graph"
        if to == room or to in ROOMS[room]:
            return None
        allowed = ", ".join(sorted(ROOMS[room])) or "no other room"
        return f"{room} may include {allowed}; not {to}"
    return f"{place(path)[1]} may not include files of {target.split('/')[0]}/"


def refuse_angle(path, name):
    for pattern, files in FENCED:
        if re.fullmatch(pattern, name):
            return None if re.fullmatch(files, path) else f"only {files} may include it"
    if name.startswith("waymark/"):
        return None if place(path)[0] == "client" else 'our own headers are included with ""'
    if name.endswith(".h") and name[:-2] in SYSTEM:
        return None
    return "unknown library: fence it here and give it a row in docs/dependencies.md"


def check_includes(root, files):
    for path in files:
        if not path.startswith(("src/", "include/", *(c + "/" for c in CLIENTS))):
            continue
        if not path.endswith((".c", ".h", ".def", ".inc")):
            continue
        text = read(root, path)
        for m in INCLUDE.finditer(text):
            where = f"{path}:{text.count(chr(10), 0, m.start()) + 1}"
            quoted, angle, other = m.groups()
            if quoted:
                target = resolve(root, path, quoted)
                if target is None:
                    yield f'{where}: "{quoted}": no such file in the tree'
                    continue
                why = refuse_quoted(path, target)
            elif angle:
                why = refuse_angle(path, angle)
            else:
                quoted, why = other.strip(), "a macro hides what is included"
            if why:
                yield f"{where}: {quoted or angle}: {why}"


# --- names ---------------------------------------------------------------------------------------

# Names that say what a file is to its own folder.
SHARED_NAMES = {
    "CMakeLists.txt", "README.md", "run", "run.c", "presets.json", "expected.csv", "__init__.py",
    ".clang-tidy", ".gitignore",
}
# Results and data sets are named by what made them.
FREE_FOLDERS = ("results/", "tests/data/", "tests/fuzz/")


def check_names(_root, files):
    seen = {}
    for path in files:
        name = path.rsplit("/", 1)[-1]
        if name in SHARED_NAMES or path.startswith(FREE_FOLDERS):
            continue
        if name in seen:
            yield f"{path}: the name is taken by {seen[name]}"
        seen.setdefault(name, path)


# --- paths ---------------------------------------------------------------------------------------

# Written with [] so that this file does not breach its own rule.
MACHINE_PATH = re.compile(r"(?<![\w.$}~-])/([h]ome|[r]oot|[U]sers|[w]ork|[v]ar/tmp|[m]nt|[s]cratch)/[\w.]")


def check_paths(root, files):
    own = {os.path.abspath(root) + "/", os.path.expanduser("~") + "/"} - {"/", "//"}
    for path in files:
        text = read(root, path)
        if text is None:
            continue
        for number, line in enumerate(text.split("\n"), 1):
            m = MACHINE_PATH.search(line)
            found = m.group(0) if m else next((p for p in own if p in line), None)
            if found:
                yield f"{path}:{number}: names a path of a machine: {found}"


# --- headers -------------------------------------------------------------------------------------


def compilers():
    """[(language, command)]; CC is honoured, and clang stands in for a missing g++."""
    cc = os.environ.get("CC") or next(
        (c for c in ("cc", "gcc", "clang", "clang-14") if shutil.which(c)), None)
    cxx = next((c for c in ("g++", "clang++", "clang", "clang-14") if shutil.which(c)), None)
    return [("c", cc, "-std=c11"), ("c++", cxx, "-std=c++11")]


def check_headers(root, files):
    headers = [f for f in files if f.startswith("include/waymark/") and f.endswith(".h")]
    if not headers:
        yield "include/waymark: no public header found"
    every = "include/waymark/waymark.h"
    held = {m.group(1) for m in INCLUDE.finditer(read(root, every))} if every in files else set()
    for path in headers:
        if path != every and path[len("include/"):] not in held:
            yield f"{path}: is not in {every}"
    for language, compiler, standard in compilers():
        if not compiler:
            yield f"no {language} compiler found"
            continue
        for path in headers:
            name = path[len("include/"):]
            done = subprocess.run(
                [compiler, "-x", language, standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                 "-fsyntax-only", "-I", os.path.join(root, "include"), "-"],
                input=f'#include "{name}"\n#include "{name}"\n', capture_output=True, text=True)
            if done.returncode:
                yield f"{path}: does not compile alone as {language}\n{done.stderr.rstrip()}"


# --- identifiers ---------------------------------------------------------------------------------

NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n]*\\\n)*[^\n]*)", re.M)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
BODY = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
TAG = re.compile(r"\b(struct|union|enum)\s+(\w+)\s*" + BODY)
TYPEDEF = re.compile(r"\btypedef\b((?:[^;{}]|" + BODY + r")*);")
ENUM = re.compile(r"\benum\b\s*\w*\s*\{([^{}]*)\}")
FUNCTION = re.compile(r"^(?!static\b|typedef\b|extern\b)[A-Za-z_][\w \t*]*?\b(\w+)\([^;{}]*\)\s*\{", re.M)
OPAQUE = re.compile(r"\s*(?:struct|union|enum)\s+(\w+)\s+\1\s*")


def defined(path, text):
    """(kind, name) of what a file defines and others may see: all of a header; of a C file its
    functions, and what has our prefix."""
    text = NOT_CODE.sub(lambda m: " " * 2 + "\n" * m.group(0).count("\n"), text)
    found = [("macro", m.group(1)) for m in MACRO.finditer(text)]
    text = DIRECTIVE.sub("", text)
    found += [("tag", m.group(2)) for m in TAG.finditer(text)]
    for m in TYPEDEF.finditer(text):
        if OPAQUE.fullmatch(m.group(1)):
            continue  # says no more than that there is such a type
        plain = re.sub(BODY + r"|__attribute__\s*\(\(.*\)\)", " ", m.group(1))
        name = (re.search(r"\(\s*\*\s*(\w+)\s*\)", plain) or re.search(r"(\w+)\s*\(", plain)
                or re.search(r"(\w+)\s*(?:\[[^]]*\]\s*)*$", plain))
        if name:
            found.append(("type", name.group(1)))
    for m in ENUM.finditer(text):
        found += [("value", v) for v in re.findall(r"(?:^|,)\s*(\w+)", m.group(1))]
    found += [("function", m.group(1)) for m in FUNCTION.finditer(text)]
    if path.endswith(".c"):
        found = [(k, n) for k, n in found
                 if n.lower().startswith(("wm_", "wmi_")) or (k == "function" and n.islower())]
    return set(found)


def check_idents(root, files):
    seen = {}
    for path in files:
        if not path.startswith(("src/", "include/")) or not path.endswith((".c", ".h")):
            continue
        for kind, name in sorted(defined(path, read(root, path))):
            if "_tmpl." in path and kind in ("function", "macro"):
                continue  # built once for each type; their names are made by macros
            space = kind == "tag", name  # C's own: tags beside all other names
            if seen.get(space, path) != path:
                yield f"{path}: {kind} {name} is defined in {seen[space]} too"
            seen.setdefault(space, path)


# --- words ---------------------------------------------------------------------------------------

# The page repeats the command that made it, and its style sheet has variables.
OPTION = re.compile(r'"[^"\n]*(?<![\w-])--[a-z][^"\n]*"')
SAYS_OPTIONS = "src/report/page/"


def check_words(root, files):
    for path in files:
        if not path.startswith("src/") or not path.endswith((".c", ".h")) or path.startswith(SAYS_OPTIONS):
            continue
        text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group(0)), read(root, path), flags=re.S)
        for m in OPTION.finditer(text):
            line = text.count("\n", 0, m.start()) + 1
            yield f"{path}:{line}: names an option of the command: {m.group(0)}"


# --- drawing -------------------------------------------------------------------------------------

DRAWING = "CONTRIBUTING.md"
LAYER = re.compile(r"^ *\| +([a-z][a-z ]*?) +\|", re.M)
WAY = re.compile(r"^ *[^|:\n]*: *([a-z, ]+(?:-->[a-z, ]+)+)$", re.M)


def opened(root, files):
    """{(room, the room of a header that it includes)}"""
    found = set()
    for path in files:
        kind, room = place(path)
        room = HEADER_ROOM.get(room) if kind == "public" else room if kind == "room" else None
        if not room or not path.endswith((".c", ".h")):
            continue
        for m in INCLUDE.finditer(read(root, path)):
            target = m.group(1) and resolve(root, path, m.group(1))
            to_kind, to = place(target) if target else ("other", "")
            to = HEADER_ROOM.get(to) if to_kind == "public" else to if to_kind == "room" else None
            if to and to != room:
                found.add((room, to))
    return found


def check_drawing(root, files):
    text = read(root, DRAWING) if DRAWING in files else ""
    text = text.partition("\n## Rooms\n")[2].partition("\n## ")[0]
    layers = [m.group(1).split() for m in LAYER.finditer(text)]
    height = {room: -i for i, layer in enumerate(layers) for room in layer}
    rooms = {place(f)[1] for f in files if place(f)[0] == "room"}
    edges = opened(root, files)
    for room in sorted(rooms - set(height)):
        yield f"{DRAWING}: room '{room}' is not in the drawing"
    for room in sorted(set(height) - rooms):
        yield f"{DRAWING}: there is no room '{room}'"
    for room, below in sorted(edges):
        if room in height and below in height and height[room] <= height[below]:
            yield f"{DRAWING}: {room} includes {below}, which is not drawn below it"
    for m in WAY.finditer(text):
        groups = [[r.strip() for r in g.split(",")] for g in m.group(1).split("-->")]
        for left, right in zip(groups, groups[1:]):
            for a, b in ((a, b) for a in left for b in right):
                if a not in ROOMS.get(b, ()) or (b, a) not in edges:
                    yield f"{DRAWING}: {a} --> {b}: {b} includes nothing of {a}"


# --- the tree ------------------------------------------------------------------------------------


def read(root, path):
    """The text of a file; None for a binary one."""
    with open(os.path.join(root, path), "rb") as f:
        data = f.read()
    return None if b"\0" in data[:8192] else data.decode("utf-8", "replace")


def tree_files(root):
    """Tracked files and new ones that are not ignored; without git, all but build/ and hidden."""
    if os.path.exists(os.path.join(root, ".git")):
        done = subprocess.run(["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z", "-co",
                               "--exclude-standard"], capture_output=True, text=True)
        if done.returncode == 0:
            found = {f for f in done.stdout.split("\0") if f}
            return sorted(f for f in found if os.path.isfile(os.path.join(root, f)))
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [d for d in folders if d not in ("build", "__pycache__") and d[0] != "."]
        rel = os.path.relpath(folder, root)
        found += [os.path.normpath(os.path.join(rel, n)).replace(os.sep, "/") for n in names]
    return sorted(found)


CHECKS = {"includes": check_includes, "names": check_names, "paths": check_paths,
          "headers": check_headers, "idents": check_idents, "words": check_words,
          "drawing": check_drawing}


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    root = sys.argv[2] if len(sys.argv) == 3 else "."
    breaches = list(CHECKS[sys.argv[1]](root, tree_files(root)))
    for line in breaches:
        print(line)
    sys.exit(1 if breaches else 0)


if __name__ == "__main__":
    main()
