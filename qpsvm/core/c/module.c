/* The module: the level of instructions, a look at the clock, and the functions of all parts. */
#include "core.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

int core_level = PLAIN;

static const char *const LEVELS[] = {"plain", "avx2", "avx512"};

static int of_processor(void) {
#if X86
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return PLAIN;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512bw"))
        return AVX2;
    return AVX512;
#else
    return PLAIN;
#endif
}

/* Nanoseconds between two looks: a hundredth of a second nobody feels. */
#define BETWEEN 10000000

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void look_begins(Look *look, PyObject *function) {
    look->function = function == Py_None ? NULL : function;
    look->next = now() + BETWEEN;
    look->failed = 0;
}

int looked(Look *look) {
    if (look->failed) return 1;
    if (now() < look->next) return 0;
    PyGILState_STATE state = PyGILState_Ensure();
    int ends = PyErr_CheckSignals() != 0;
    if (!ends && look->function) {
        PyObject *said = PyObject_CallNoArgs(look->function);
        ends = said ? PyObject_IsTrue(said) : -1;
        Py_XDECREF(said);
    }
    look->failed = PyErr_Occurred() != NULL;
    PyGILState_Release(state);
    look->next = now() + BETWEEN;
    return ends != 0;
}

static PyObject *level(PyObject *self, PyObject *nothing) {
    (void)self, (void)nothing;
    return PyUnicode_FromString(LEVELS[core_level]);
}

static PyObject *set_level(PyObject *self, PyObject *name) {
    (void)self;
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!text) return NULL;
    for (int k = of_processor(); k >= 0; k--)
        if (!strcmp(text, LEVELS[k])) {
            core_level = k;
            Py_RETURN_TRUE;
        }
    Py_RETURN_FALSE;
}

static PyMethodDef own_methods[] = {
    {"level", level, METH_NOARGS, "The level of instructions that runs."},
    {"set_level", set_level, METH_O, "Run with another level that the processor has; whether it has it."},
    {NULL, NULL, 0, NULL},
};

static int fill(PyObject *module) {
    core_level = of_processor();
    return PyModule_AddFunctions(module, own_methods) || PyModule_AddFunctions(module, active_methods) ||
           PyModule_AddFunctions(module, classes_methods) || PyModule_AddFunctions(module, descent_methods) ||
           PyModule_AddFunctions(module, loop_methods) || PyModule_AddFunctions(module, loop_parts_methods) ||
           PyModule_AddFunctions(module, moments_methods) || PyModule_AddFunctions(module, pieces_methods) ||
           PyModule_AddFunctions(module, strips_methods);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, fill}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_compiled", .m_size = 0, .m_slots = slots,
};

__attribute__((visibility("default"))) PyMODINIT_FUNC PyInit__compiled(void) { return PyModuleDef_Init(&definition); }
