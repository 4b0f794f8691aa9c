// SPDX-License-Identifier: BSD-3-Clause
#include "training/checkpoint/metrics_file.hpp"

#include <algorithm>
#include <sstream>
#include <string>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/numbers.hpp"
#include "support/paths.hpp"

namespace plumbline {
namespace {

const std::string header_line =
    "step,loss,evaluation_loss,gradient_norm,clip_coefficient,learning_rate,tokens,epochs,seconds,tokens_per_second,"
    "waited_seconds,saving_seconds,tflops_per_device,flops_utilization\n";

/// The header, and the rows of steps before `first`.
std::string rows_before(const std::filesystem::path& path, std::int64_t first) {
  if (first == 0 || !path_exists(path)) return header_line;
  std::istringstream lines(read_file(path, most_by_program));
  std::string kept, line;
  std::getline(lines, line);
  if (line + "\n" != header_line) {
    throw InputError(path.string() + ": is not a metrics file of this kind; move it away, or use another folder");
  }
  while (std::getline(lines, line)) {
    const auto step = parse_integer(line.substr(0, line.find(',')));
    if (step && *step < first) kept += line + "\n";
  }
  return header_line + kept;
}

}  // namespace

std::int64_t metrics_rows(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / metrics_file_name;
  if (!path_exists(path)) return 0;
  return std::max<std::int64_t>(0,
                                std::ranges::count(read_file(path, most_by_program), '\n') - 1);  // without the header
}

MetricsFile::MetricsFile(const std::filesystem::path& folder, std::int64_t first) : path_(folder / metrics_file_name) {
  write_file(path_, rows_before(path_, first));
  file_.open(path_, std::ios::app);
  if (!file_) throw SystemError(path_.string() + ": cannot be written");
}

void MetricsFile::add(std::int64_t step, const MetricsRow& row, const StepUpdate& update) {
  const auto text_of = [](const std::optional<float>& loss) { return loss ? to_text(*loss) : std::string(); };
  file_ << step << ',' << text_of(row.loss) << ',' << text_of(row.evaluation_loss) << ','
        << to_text(update.gradient_norm) << ',' << to_text(update.clip_coefficient) << ','
        << to_text(update.learning_rate) << ',' << row.tokens << ',' << to_text(row.epochs) << ','
        << to_text(row.seconds) << ',' << to_text(static_cast<double>(row.tokens) / row.seconds) << ','
        << to_text(row.waited_seconds) << ',' << to_text(row.saving_seconds) << ',' << to_text(row.tflops) << ','
        << (row.utilization ? to_text(*row.utilization) : std::string()) << '\n'
        << std::flush;  // write errors (a full disk) are ignored, and training continues
  file_.clear();
}

}  // namespace plumbline
