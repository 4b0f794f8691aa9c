// SPDX-License-Identifier: BSD-3-Clause
#include "training/run_check.hpp"

#include <cstdio>
#include <iostream>

#include "model/load_weights.hpp"
#include "record/writer.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"
#include "support/plain_text.hpp"
#include "support/terminal.hpp"
#include "support/text.hpp"
#include "training/checkpoint/checkpoint_folder.hpp"
#include "training/checkpoint/later_work.hpp"
#include "training/run_summary.hpp"

namespace plumbline {

int answer_check(const std::string& program, const std::filesystem::path& run_file, bool as_json,
                 const std::function<void(RunAnswer&)>& ask) {
  RunAnswer answer;
  answer.json = {{"schema", check_schema}, {"program", program}, {"run_file", run_file.string()},
                 {"can_run", true},        {"exit_code", 0},     {"message", nullptr}};
  const auto failure = failure_of([&] { ask(answer); });
  if (failure) {
    answer.json["can_run"] = false;
    answer.json["exit_code"] = static_cast<int>(failure->code);
    answer.json["message"] = failure->words;
    std::fprintf(stderr, "%s: %s\n", program.c_str(), printable_lines(failure->words).c_str());
  }
  if (as_json) {
    std::cout << json_text(answer.json, 2) << '\n';
  } else if (!failure) {
    print_text(run_file.string() + ": can run\n" + answer.text);
  }
  return answer.json["exit_code"];
}

void check_inputs(const TrainingRun& training, const std::filesystem::path& record, RunAnswer& answer) {
  answer.json["run"] = resolved_run(training);
  for (const std::string& line : run_lines(training)) answer.text += line + "\n";
  if (!training.config.ignored_keys.empty()) {
    answer.text += "ignored in config.json: " + join(training.config.ignored_keys, ", ") + "\n";
  }
  if (!record.empty()) {
    require_new_record_folder(record);
    require_folder_can_be_made(record);
  }
  if (training.run.checkpoint.folder) {
    require_folder_can_be_made(*training.run.checkpoint.folder);
    if (!training.discard_later)
      require_no_later_work(training, steps_of_name(training.resume.value_or("")).value_or(0));
  }
  if (training.run.weights) check_weights(training.config, *training.run.weights);
  training.plan.make(0, 0);  // throws for ids beyond the vocabulary
  if (training.validation) training.validation->make(0, 0);
}

}  // namespace plumbline
