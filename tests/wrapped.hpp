// SPDX-License-Identifier: BSD-3-Clause
// Puts functions in front of the trainers' own, with the linker's --wrap.
#pragma once

// Defines two names for the function with this mangled name: `real_<name>`, the trainer's own, and `wrap_<name>`, which
// all callers reach. plumbline_wrap in tests/CMakeLists.txt reads the name and passes it to the linker.
#define PLUMBLINE_PLANT(mangled, result, name, ...)       \
  result real_##name(__VA_ARGS__) asm("__real_" mangled); \
  result wrap_##name(__VA_ARGS__) asm("__wrap_" mangled)
