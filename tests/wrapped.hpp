// SPDX-License-Identifier: BSD-3-Clause
// Functions of the trainers with others put in front of them by the linker's --wrap.
#pragma once

// Of the function of this mangled name: `real_<name>`, the trainer's own, and `wrap_<name>`, which all callers reach.
// plumbline_wrap in tests/CMakeLists.txt reads the name, and tells the linker.
#define PLUMBLINE_PLANT(mangled, result, name, ...)       \
  result real_##name(__VA_ARGS__) asm("__real_" mangled); \
  result wrap_##name(__VA_ARGS__) asm("__wrap_" mangled)
