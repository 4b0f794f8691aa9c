// SPDX-License-Identifier: BSD-3-Clause
// Sets an environment variable for a test.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace plumbline::testing {

class EnvironmentVariable {
 public:
  /// Sets the variable in its lifetime; nullptr unsets it.
  EnvironmentVariable(const std::string& name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name.c_str())) before_ = before;
    set(value);
  }
  ~EnvironmentVariable() { set(before_ ? before_->c_str() : nullptr); }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  void set(const char* value) const {
    value != nullptr ? ::setenv(name_.c_str(), value, 1) : ::unsetenv(name_.c_str());
  }

  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace plumbline::testing
