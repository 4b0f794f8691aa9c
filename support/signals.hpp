// SPDX-License-Identifier: BSD-3-Clause
// Signals, and exit codes that stand for one, as text.
#pragma once

#include <string>

namespace plumbline {

/// "SIGINT"; empty if it is unknown.
const char* signal_name(int signal);

/// "9 (SIGKILL)".
std::string signal_text(int signal);

/// "3"; "139 (128 + 11, SIGSEGV)", as a shell or a launcher returns it for a program that a signal ended.
std::string exit_code_text(int code);

}  // namespace plumbline
