#include "harness/doctor.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include "harness/launcher.hpp"
#include "support/error.hpp"
#include "support/files.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// A folder for the answers, removed afterwards.
class AnswerFolder {
 public:
  AnswerFolder() {
    std::string name = (fs::temp_directory_path() / "plumbline-doctor-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw SystemError(name + ": no temporary folder can be made there");
    path_ = name;
  }
  ~AnswerFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  AnswerFolder(const AnswerFolder&) = delete;
  AnswerFolder& operator=(const AnswerFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

Json ask(const fs::path& program, StopSignals& signals) {
  try {
    const AnswerFolder folder;
    Launch question;
    question.command = {program.string(), "--capabilities"};
    question.folder = folder.path();
    question.time_limit = std::chrono::seconds(60);
    const auto finding = launch(question, signals);
    if (finding.exit_code != 0) {
      return {{"missing", program.string() + " --capabilities ended with code " + std::to_string(finding.exit_code) +
                              ": " + last_words(folder.path() / "stderr.txt", program.filename().string())}};
    }
    return read_json(folder.path() / "stdout.txt");
  } catch (const Error& error) {
    return {{"missing", error.what()}};
  }
}

void flatten(const Json& value, const std::string& indent, std::string& text) {
  for (const auto& [key, inner] : value.items()) {
    text += indent + (value.is_array() ? "- " : key + ": ");
    if (inner.is_structured() && !inner.empty() && !(inner.is_array() && !inner.front().is_structured())) {
      text += "\n";
      flatten(inner, indent + "  ", text);
    } else {
      text += (inner.is_string() ? inner.get<std::string>() : inner.is_null() ? "none" : inner.dump()) + "\n";
    }
  }
}

}  // namespace

Json examine_machine(const fs::path& trainers) {
  StopSignals signals;
  Json findings = Json::object();
  Json can = Json::array(), missing = Json::array();
  bool all_trainers = true;
  for (const std::string name : {"plumbline-reference", "plumbline-pipeline"}) {
    const Json answer = ask(trainers / name, signals);
    if (answer.contains("missing")) {
      all_trainers = false;
      missing.push_back(answer.at("missing"));
    }
    findings["trainers"][name] = answer;
  }
  bool has_mpirun = true;
  for (const std::string name : {"mpirun", "gnuplot"}) {
    try {
      findings["programs"][name] = find_program(name).string();
    } catch (const SystemError& error) {
      findings["programs"][name] = nullptr;
      missing.push_back(error.what());
      if (name == "mpirun") has_mpirun = false;
    }
  }
  findings["cores"] = std::thread::hardware_concurrency();
  if (all_trainers && has_mpirun) can.push_back("sweep over MPI processes on the CPU");
  can.push_back("compare and report existing records");
  if (!findings["programs"]["gnuplot"].is_null()) can.push_back("draw plots into the report");
  findings["can"] = can;
  findings["missing"] = missing;
  return findings;
}

std::string doctor_text(const Json& findings) {
  std::string text;
  flatten(findings, "", text);
  return text;
}

}  // namespace plumbline
