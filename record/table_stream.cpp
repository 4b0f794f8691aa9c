// SPDX-License-Identifier: BSD-3-Clause
#include "record/table_stream.hpp"

#include <fmt/format.h>

#include "record/rank_folder.hpp"

namespace plumbline {

RecordPlace RankPlace::place(const std::string& file, std::optional<std::int64_t> step) const {
  return {rank_folder(rank) + "/" + file, rank, step};
}

void RankPlace::fail(const std::string& file, std::size_t line, std::optional<std::int64_t> step,
                     const std::string& what) const {
  throw RecordError(place(std::filesystem::path(file).filename().string(), step),
                    fmt::format("{}{}: {}", (folder / file).string(), line == 0 ? "" : fmt::format(":{}", line), what));
}

void RankPlace::fail_missing(const std::string& file) const {
  fail(file, 0, {}, fmt::format("is missing, but manifest.json says level '{}'", to_text(manifest.level)));
}

bool may_lack_column(Presence presence, const Manifest& manifest) {
  if (presence == Presence::any_may_lack_column || presence == Presence::external_alone) return true;
  return manifest.external() &&
         (presence == Presence::external_may_lack_column || presence == Presence::external_may_lack_value);
}

bool must_have_value_of_our_own(Presence presence) {
  return presence == Presence::external_may_lack_value || presence == Presence::external_may_leave_empty;
}

bool is_absent(const RankPlace& rank, const std::string& file) {
  const std::filesystem::path path = rank.folder / file;
  return !std::filesystem::exists(path) || (!rank.complete && !has_whole_line(path));
}

}  // namespace plumbline
