// SPDX-License-Identifier: BSD-3-Clause
// A temporary folder for the output of queried programs, removed afterwards.
#pragma once

#include <filesystem>

namespace plumbline {

class AnswerFolder {
 public:
  /// Throws SystemError if it cannot be created.
  AnswerFolder();
  ~AnswerFolder();
  AnswerFolder(const AnswerFolder&) = delete;
  AnswerFolder& operator=(const AnswerFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace plumbline
