/* py_module.c - the module _waymark: the library's calls, for the package waymark alone. */
#include "py_args.h"

static int fill(PyObject *module)
{
    PyMethodDef *const all[] = {py_study_methods, py_ratio_methods, py_ebm_methods,
                                py_embed_methods, py_table_methods, py_sampler_methods};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (PyModule_AddFunctions(module, all[i]))
            return -1;
    return 0;
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_waymark",
    .m_doc = "Calls of the Waymark library; use the package waymark.",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit__waymark(void); /* Python's macro declares nothing */

PyMODINIT_FUNC PyInit__waymark(void)
{
    PyObject *module = PyModule_Create(&definition);

    if (module && fill(module))
        Py_CLEAR(module);
    return module;
}
