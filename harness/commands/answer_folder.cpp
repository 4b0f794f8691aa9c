// SPDX-License-Identifier: BSD-3-Clause
#include "harness/commands/answer_folder.hpp"

#include "support/paths.hpp"

namespace plumbline {

AnswerFolder::AnswerFolder() : path_(make_temporary_folder("plumbline-doctor")) {}

AnswerFolder::~AnswerFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace plumbline
