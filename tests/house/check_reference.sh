#!/bin/sh
# check_reference.sh DIR, in the root folder: Doxygen has nothing to complain about; pages go to DIR/docs.
command -v doxygen >/dev/null || {
    echo "skipped: doxygen is not installed (tools/setup check)"
    exit 77
}
(cat docs/Doxyfile && echo "OUTPUT_DIRECTORY = $1/docs") | doxygen -
