// SPDX-License-Identifier: BSD-3-Clause
// What a user types in a folder of its own, and what is printed: the cases of tests/approved/{plans,sessions,commands,
// checkpoints}. tests/approved/README.md explains their lines.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/environment_variable.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {

class Session {
 public:
  using Words = std::vector<std::string>;
  /// Prints to stdout and stderr, and returns the exit code; errors are printed as in main().
  using Program = std::function<int(const Words& words)>;

  Session();
  virtual ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs the lines of a case and returns what they print, without times and the folder's path.
  std::string answer(const std::string& lines);

 protected:
  /// Lines that begin with `name` call it in this process, in the folder; bash runs all other lines.
  void add(const std::string& name, Program program) { programs_[name] = std::move(program); }
  /// Writes the files that "start WORD" stands for.
  virtual void start(const std::string& word) = 0;

  const TemporaryFolder folder_;

 private:
  std::string printed_by(const Program& program, const std::string& line,
                         const std::map<std::string, std::string>& variables);
  std::string bash(const std::string& script) const;

  const TemporaryFolder own_;      ///< for files that the user does not see
  const EnvironmentVariable pid_;  ///< $plumbline_pid, for signals
  std::map<std::string, Program> programs_;
};

}  // namespace plumbline::testing
