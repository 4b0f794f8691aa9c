// SPDX-License-Identifier: BSD-3-Clause
// The switch in instrumented sources (scripts/line-mutants): $MUTANT names the one active mutant. If $MUTANT_REACHED
// names a file, its byte i says that mutant i would have changed something.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace line_mutant {

constexpr long most_mutants = 1L << 17;

struct Switch {
  int chosen = -1;
  unsigned char* reached = nullptr;

  Switch() {
    if (const char* text = std::getenv("MUTANT")) chosen = std::atoi(text);
    if (const char* path = std::getenv("MUTANT_REACHED")) note_in(path);
  }
  /// Shared with the programs that a test starts, and kept if one is killed.
  void note_in(const char* path) {
    const int file = open(path, O_RDWR | O_CREAT, 0644);
    if (file < 0) return;
    if (ftruncate(file, most_mutants) == 0) {
      void* mapped = mmap(nullptr, most_mutants, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (mapped != MAP_FAILED) reached = static_cast<unsigned char*>(mapped);
    }
    close(file);
  }
};

inline Switch& the_switch() {
  static Switch* const made = new Switch;  // must outlive code that static destructors run
  return *made;
}

inline bool on(int mutant) {
  Switch& now = the_switch();
  if (now.reached && mutant >= 0) now.reached[mutant] = 1;
  return mutant >= 0 && now.chosen == mutant;
}

/// Made true by the mutant `always` and false by `never`; each counts as reached if it would change something.
/// Negative: not drawn.
inline bool condition(int always, int never, bool value) {
  if (on(value ? never : always)) return !value;
  return value;
}

}  // namespace line_mutant
