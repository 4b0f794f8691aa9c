// SPDX-License-Identifier: BSD-3-Clause
// What follows from who wrote a record: one of our own trainers, or the recorder of another trainer (role external).
#pragma once

#include <string>

namespace plumbline {

struct Manifest;

/// Set once, when the manifest is read.
struct RecordTraits {
  bool own = true;           ///< one of our trainers wrote it: it has the keys, names and ranks that these have
  bool may_lack = false;     ///< tables, columns, cells and rows that our trainers always write may be missing
  bool own_formulas = true;  ///< statistics, norms, rates and updates are computed as docs/exactness.md defines
  bool own_bytes = true;     ///< memory.csv divides bytes by owner, and counts those that our trainers allocate
  bool own_actions = true;   ///< actions, their times and their list are those of our executor
  bool llama = true;         ///< the model is a Llama; our trainers support no other
};

/// All but `llama`, which needs the whole manifest.
RecordTraits traits_of_role(const std::string& role);

/// True for a config of that type, of an equivalent family with the given keys, or of no type and with the defining
/// keys, if the first unit is `embed_tokens`.
bool is_llama(const Manifest& manifest);

}  // namespace plumbline
