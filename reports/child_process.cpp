#include "reports/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

extern char** environ;

namespace plumbline {
namespace {

using Clock = std::chrono::steady_clock;

/// A descriptor closed when it goes out of scope.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  void set(int fd) {
    close();
    fd_ = fd;
  }

 private:
  int fd_;
};

bool make_pipe(Descriptor& read_end, Descriptor& write_end) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  read_end.set(ends[0]);
  write_end.set(ends[1]);
  return true;
}

std::vector<std::string> environment_in_c_locale() {
  std::vector<std::string> all{"LC_ALL=C"};  // else the decimal sign follows the user's language
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "LC_ALL=", 7) != 0) all.emplace_back(*entry);
  }
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (auto& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

/// A file without a name that holds `text`, read from its start: cannot block, however large.
bool input_file(const std::string& text, Descriptor& input) {
  std::FILE* file = std::tmpfile();
  if (file == nullptr) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
  if (written) {
    input.set(::fcntl(::fileno(file), F_DUPFD_CLOEXEC, 3));
    ::lseek(input.get(), 0, SEEK_SET);
  }
  std::fclose(file);
  return written && input.get() >= 0;
}

/// Reads both pipes until they end; false at the deadline.
bool read_all(Descriptor& out, Descriptor& error, ChildResult& result, Clock::time_point deadline) {
  std::array<char, 65536> buffer{};
  while (out.get() >= 0 || error.get() >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    std::array<pollfd, 2> waiting{pollfd{out.get(), POLLIN, 0}, pollfd{error.get(), POLLIN, 0}};
    const int ready = ::poll(waiting.data(), waiting.size(), static_cast<int>(left));
    if (ready < 0 && errno != EINTR) return false;
    for (std::size_t i = 0; ready > 0 && i < waiting.size(); ++i) {
      if (waiting[i].revents == 0) continue;
      Descriptor& pipe = i == 0 ? out : error;
      const auto bytes = ::read(pipe.get(), buffer.data(), buffer.size());
      if (bytes > 0) {
        (i == 0 ? result.out : result.error).append(buffer.data(), static_cast<std::size_t>(bytes));
      } else if (bytes == 0 || errno != EINTR) {
        pipe.close();
      }
    }
  }
  return true;
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& command, const std::string& input,
                      std::chrono::milliseconds deadline) {
  ChildResult result;
  Descriptor in, out_read, out_write, error_read, error_write;
  if (!input_file(input, in) || !make_pipe(out_read, out_write) || !make_pipe(error_read, error_write)) {
    result.error = std::strerror(errno);
    return result;
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out_write.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, error_write.get(), STDERR_FILENO);
  std::vector<std::string> arguments = command, environment = environment_in_c_locale();
  pid_t child = 0;
  const int refused = ::posix_spawnp(&child, arguments.front().c_str(), &actions, nullptr, pointers(arguments).data(),
                                     pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (refused != 0) {
    result.error = std::strerror(refused);
    return result;
  }
  result.started = true;
  out_write.close();
  error_write.close();
  result.in_time = read_all(out_read, error_read, result, Clock::now() + deadline);
  if (!result.in_time) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

}  // namespace plumbline
