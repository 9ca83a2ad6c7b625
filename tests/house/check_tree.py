#!/usr/bin/env python3
"""check_tree.py CHECK [ROOT]: hold the tree to its own rules. Prints each breach, exits 1 on any.

  includes  rooms include only the rooms they may, and each outside library stays in its file
  names     file names are unique in the tree
  paths     no text file names a path of somebody's machine
  headers   each public header compiles alone, in C and in C++
"""

import os
import re
import shutil
import subprocess
import sys

# --- includes: a room may open itself and the rooms named here -----------------------------------

LOW = {"base"}
NETS = LOW | {"engine"}
TRAIN = NETS | {"data", "waymarks", "optim", "dist", "nn", "loss", "noise"}
ROOMS = {
    "base": set(),
    "data": LOW, "waymarks": LOW, "optim": LOW, "sample": LOW, "dist": LOW, "engine": LOW,
    "nn": NETS, "loss": NETS, "noise": NETS | {"nn"},
    "train": TRAIN,
    "estimators": TRAIN | {"train", "sample"},
    "report": TRAIN | {"train", "sample", "estimators"},
}

# A public header belongs to the room that implements it; waymark.h is for users alone.
HEADER_ROOM = {
    "status": "base", "sink": "base", "version": "base", "data": "data", "noise": "noise",
    "waymarks": "waymarks", "model": "nn", "train": "train", "sample": "sample",
    "ratio": "estimators", "mi": "estimators", "ebm": "estimators", "report": "report",
    "generators": "data", "images": "data", "apply": "estimators", "weights": "estimators", "study": "estimators", "read": "data",
    "probe": "estimators", "embed": "estimators", "columns": "estimators",
}

# Folders that see the public headers and their own files, nothing private.
CLIENTS = ("cli", "reproduce", "python", "examples")

# Headers of other projects: (what <...> says, the files that may say it).
FENCED = [
    (r"(cblas|lapacke?|openblas_config|f77blas)\.h", r"src/engine/backend/(blas|linalg)\.[ch]"),
    (r"(dnnl\w*\.h|oneapi/dnnl/.*)", r"src/engine/backend/onednn\.c"),
    (r"mpi\.h", r"src/dist/comm_mpi\.c"),
    (r"lbfgs\.h", r"src/optim/lbfgs\.c"),
    (r"Random123/.*", r"src/base/rng\.c"),
    (r"jansson\.h", r"src/data/(safetensors|schema)\.c|src/report/(summary|text)\.[ch]|cli/opt\.c"),
    (r"popt\.h", r"cli/opt\.c"),
    (r"zip\.h", r"src/data/(npz|zip_images)\.c"),
    (r"png\.h", r"src/data/png_read\.c|src/report/image_grid\.c"),
    (r"zlib\.h", r"src/data/bytes\.c"),
    (r"(Python|structmember)\.h|numpy/.*", r"python/.*"),
    (r"(immintrin|x86intrin|cpuid|arm_neon|arm_sve)\.h", r"src/engine/.*"),
]

# What every file may use: C11, a little POSIX, OpenMP.
SYSTEM = set(
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal "
    "stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath time "
    "uchar wchar wctype fcntl unistd dirent omp sys/mman sys/resource sys/stat sys/time sys/types "
    "spawn sys/ioctl sys/utsname sys/wait".split())

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
    for base in (os.path.dirname(path), "src", "include"):
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
        if folder == room or (room, folder) == ("cli", "reproduce"):
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
          "headers": check_headers}


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
