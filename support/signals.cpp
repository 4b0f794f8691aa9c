// SPDX-License-Identifier: BSD-3-Clause
#include "support/signals.hpp"

#include <csignal>
#include <map>

namespace plumbline {

const char* signal_name(int signal) {
  // sigabbrev_np needs glibc 2.32; clusters have older ones.
  static const std::map<int, const char*> names = {
      {SIGHUP, "SIGHUP"},       {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"},     {SIGILL, "SIGILL"},
      {SIGTRAP, "SIGTRAP"},     {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},       {SIGFPE, "SIGFPE"},
      {SIGKILL, "SIGKILL"},     {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"},     {SIGUSR2, "SIGUSR2"},
      {SIGPIPE, "SIGPIPE"},     {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},     {SIGCHLD, "SIGCHLD"},
      {SIGSTKFLT, "SIGSTKFLT"}, {SIGCONT, "SIGCONT"}, {SIGSTOP, "SIGSTOP"},     {SIGTSTP, "SIGTSTP"},
      {SIGTTIN, "SIGTTIN"},     {SIGTTOU, "SIGTTOU"}, {SIGURG, "SIGURG"},       {SIGXCPU, "SIGXCPU"},
      {SIGXFSZ, "SIGXFSZ"},     {SIGPROF, "SIGPROF"}, {SIGVTALRM, "SIGVTALRM"}, {SIGPOLL, "SIGPOLL"},
      {SIGWINCH, "SIGWINCH"},   {SIGPWR, "SIGPWR"},   {SIGSYS, "SIGSYS"}};
  const auto name = names.find(signal);
  return name == names.end() ? "" : name->second;
}

std::string signal_text(int signal) {
  const std::string name = signal_name(signal);
  return std::to_string(signal) + (name.empty() ? "" : " (" + name + ")");
}

std::string exit_code_text(int code) {
  constexpr int of_signals = 128;
  const std::string name = signal_name(code - of_signals), text = std::to_string(code);
  return name.empty() ? text : text + " (128 + " + std::to_string(code - of_signals) + ", " + name + ")";
}

}  // namespace plumbline
