#include "launchjit/Binary/KernelBinary.h"
#include <gtest/gtest.h>
