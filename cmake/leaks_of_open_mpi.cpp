// SPDX-License-Identifier: BSD-3-Clause
// Linked into every program of a sanitized build, so that LeakSanitizer reports our leaks and not those of Open MPI. It
// cannot distinguish them by itself: Open MPI unloads its plug-ins at exit, and stacks through them lose their names.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

extern "C" {

/// Never unloads: a stack needs its library's name for the patterns below.
__attribute__((weak)) int dlclose(void*) {
  return 0;
}

/// Hardened libraries call this for asprintf. LeakSanitizer loses the stack inside libc's own; here it ends in a name.
__attribute__((weak)) int __vasprintf_chk(char** text, int, const char* format, std::va_list arguments) {
  std::va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (length < 0) return -1;
  *text = static_cast<char*>(std::malloc(static_cast<std::size_t>(length) + 1));
  return *text == nullptr ? -1 : std::vsnprintf(*text, static_cast<std::size_t>(length) + 1, format, arguments);
}

__attribute__((weak)) int __asprintf_chk(char** text, int flag, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  const int length = __vasprintf_chk(text, flag, format, arguments);
  va_end(arguments);
  return length;
}

/// Each line names a part of Open MPI or of a library that it uses.
__attribute__((weak)) const char* __lsan_default_suppressions() {
  return "leak:libmpi.so\nleak:libopen-pal.so\nleak:libopen-rte.so\nleak:libpmix.so\nleak:libhwloc.so\nleak:mca_\n"
         "leak:__vasprintf_chk\n";
}

/// Does not print what was suppressed, so that programs print the same as without a sanitizer.
__attribute__((weak)) const char* __lsan_default_options() {
  return "print_suppressions=0";
}
}
