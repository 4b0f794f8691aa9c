// SPDX-License-Identifier: BSD-3-Clause
// A library to preload. It ends the process, as SIGKILL does, before its KILL_AT-th call that changes something in the
// folder KILL_IN, and prints the number of such calls on stderr at the end. So a test can stop in every state of the
// folder. Of the writes, one for each tensor, only every twentieth counts.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::atomic<long> calls{0}, writes{0};
constexpr long writes_of_a_call = 20;

long wanted() {
  const char* at = std::getenv("KILL_AT");
  return at == nullptr ? 0 : std::atol(at);
}

bool below_folder(const std::string& path) {
  const char* folder = std::getenv("KILL_IN");
  return folder != nullptr && path.rfind(folder, 0) == 0;
}

std::string path_of(int descriptor) {
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = readlink(link.c_str(), path, sizeof path);
  return length < 0 ? "" : std::string(path, static_cast<std::size_t>(length));
}

std::string path_at(int descriptor, const char* path) {
  return path[0] == '/' || descriptor == AT_FDCWD ? path : path_of(descriptor) + "/" + path;
}

void count(const std::string& path) {
  if (below_folder(path) && ++calls == wanted()) kill(getpid(), SIGKILL);
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

void report() {
  std::fprintf(stderr, "calls %ld\n", calls.load());
}

struct ReportAtExit {
  ~ReportAtExit() { report(); }
} report_at_exit;

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if ((flags & O_CREAT) != 0) count(path);
  return next<int (*)(const char*, int, ...)>("open")(path, flags, mode);
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  const std::string path = path_of(descriptor);
  if (below_folder(path) && writes++ % writes_of_a_call == 0) count(path);
  return next<ssize_t (*)(int, const void*, size_t)>("write")(descriptor, bytes, size);
}

int fsync(int descriptor) {
  count(path_of(descriptor));
  return next<int (*)(int)>("fsync")(descriptor);
}

int mkdir(const char* path, mode_t mode) {
  count(path);
  return next<int (*)(const char*, mode_t)>("mkdir")(path, mode);
}

int rename(const char* from, const char* to) {
  count(to);
  return next<int (*)(const char*, const char*)>("rename")(from, to);
}

int symlink(const char* target, const char* path) {
  count(path);
  return next<int (*)(const char*, const char*)>("symlink")(target, path);
}

int remove(const char* path) {
  count(path);
  return next<int (*)(const char*)>("remove")(path);
}

int unlinkat(int descriptor, const char* path, int flags) {
  count(path_at(descriptor, path));
  return next<int (*)(int, const char*, int)>("unlinkat")(descriptor, path, flags);
}

/// Trainers end by it, without destructors.
[[noreturn]] void _Exit(int code) {
  report();
  next<void (*)(int)>("_Exit")(code);
  std::abort();
}

}  // extern "C"
