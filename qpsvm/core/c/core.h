/* What the parts of the core share. */
#ifndef QPSVM_CORE_H
#define QPSVM_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

/* Levels of instructions, each with those below it. */
enum { PLAIN = 0, AVX2 = 1, AVX512 = 2 };

#if defined(__x86_64__)
#define X86 1
#else
#define X86 0
#endif

/* The level that runs: the processor's, or a lower one that QPSVM_CORE names. */
extern int core_level;

/* Functions that a part of the core gives the module; the last entry is empty. */
extern PyMethodDef active_methods[];
extern PyMethodDef classes_methods[];
extern PyMethodDef descent_methods[];
extern PyMethodDef loop_methods[];
extern PyMethodDef loop_parts_methods[];
extern PyMethodDef moments_methods[];
extern PyMethodDef pieces_methods[];
extern PyMethodDef strips_methods[];

/* Whether a buffer holds whole numbers of so many bytes, at places where the processor may read them. */
static inline int is_aligned(const Py_buffer *given, int size) {
    return given->len % size == 0 && (!given->len || (uintptr_t)given->buf % (uintptr_t)size == 0);
}

/* A look at the clock and the interrupt key from within a long computation: `looked` calls the Python function at most
   once in some milliseconds. Returns 1 where the computation is to end, by what the function says or by an error that
   is set then. The interpreter's lock is not held by the caller. */
typedef struct {
    PyObject *function; /* or NULL, or None: nobody asks */
    int64_t next;       /* in nanoseconds */
    int failed;         /* an error is set */
} Look;

void look_begins(Look *look, PyObject *function);
int looked(Look *look);

#endif
