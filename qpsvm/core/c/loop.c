/* The working-set loop: what it minimises stands in solvers/kernel/loop. */
#include "core.h"

PyMethodDef loop_methods[] = {{NULL, NULL, 0, NULL}};
