#ifndef X_TM
#define X_TM
#include "CPython.h"
namespace launchjit::python {
inline bool isTensorMap(PyObject *) { return false; }
inline const void *tensorMapOf(PyObject *) { return nullptr; }
} // namespace launchjit::python
#endif
