#include "harness/commands/answer_folder.hpp"

#include <cstdlib>
#include <string>

#include "support/error.hpp"
#include "support/paths.hpp"

namespace plumbline {

AnswerFolder::AnswerFolder() {
  std::string name = (temporary_folder() / "plumbline-doctor-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw SystemError(name + ": no temporary folder can be made there");
  path_ = name;
}

AnswerFolder::~AnswerFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace plumbline
