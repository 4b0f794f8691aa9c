// SPDX-License-Identifier: BSD-3-Clause
#include "record/record.hpp"
#include "record/record_stream.hpp"

namespace plumbline {

Record read_record(const std::filesystem::path& path) {
  RecordStream stream(path);
  Record whole = stream.record();
  while (const auto step = stream.next_step()) {
    stream.go_to(*step);
    stream.move_rows_to(whole.ranks);
  }
  return whole;
}

}  // namespace plumbline
