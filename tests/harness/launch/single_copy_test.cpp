// SPDX-License-Identifier: BSD-3-Clause
// The machine is examined once per process, so each test case uses its own process.
#include "support/single_copy.hpp"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <iostream>

#include "harness/commands/doctor.hpp"
#include "tests/environment_variable.hpp"
#include "tests/harness/launch/launch_test.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

/// Forbids this process and its children to read other processes' memory, as in a container without SYS_PTRACE.
void forbid_reading() {
  const auto instruction = [](std::uint16_t code, std::uint32_t number, std::uint8_t skipped_if_not) {
    return sock_filter{code, 0, skipped_if_not, number};
  };
  std::array program{
      instruction(BPF_LD | BPF_W | BPF_ABS, 0, 0), instruction(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1),
      instruction(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0), instruction(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0)};
  const sock_fprog filter{program.size(), program.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    std::cerr << "this machine refuses the filter" << std::endl;
    _exit(1);
  }
}

class SingleCopy : public LaunchTest {
 protected:
  /// Prints on stderr both of Open MPI's variables in a launch, between brackets.
  [[noreturn]] void print_variables(bool allowed, const char* of_user) {
    {
      const EnvironmentVariable given("OMPI_MCA_btl_vader_single_copy_mechanism", of_user);
      if (!allowed) forbid_reading();
      run("echo \"[$OMPI_MCA_btl_vader_single_copy_mechanism $OMPI_MCA_smsc]\"", 0);
      std::cerr << output() << std::endl;
    }
    _exit(0);
  }
};

TEST_F(SingleCopy, IsTurnedOffIfForbiddenUnlessTheUserSetsIt) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(print_variables(false, nullptr), ::testing::ExitedWithCode(0), HasSubstr("[none ^cma]"));
  EXPECT_EXIT(print_variables(false, "cma"), ::testing::ExitedWithCode(0), HasSubstr("[cma ^cma]"));
  if (single_copy_allowed()) {
    EXPECT_EXIT(print_variables(true, nullptr), ::testing::ExitedWithCode(0), HasSubstr("[ ]"));
  }
}

TEST_F(SingleCopy, DoctorNamesTheVariableForAnMpirunOfTheUser) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto examine = [&] {
    forbid_reading();
    std::cerr << doctor_text(examine_machine(folder_.path())) << std::endl;
    _exit(0);
  };
  EXPECT_EXIT(examine(), ::testing::ExitedWithCode(0),
              AllOf(HasSubstr("single_copy: "), HasSubstr("OMPI_MCA_btl_vader_single_copy_mechanism=none")));
}

}  // namespace
}  // namespace plumbline::testing
