// SPDX-License-Identifier: BSD-3-Clause
// A libtorch_cpu.so without the functions that a trainer calls.
extern "C" int plumbline_empty_libtorch;
int plumbline_empty_libtorch = 0;
