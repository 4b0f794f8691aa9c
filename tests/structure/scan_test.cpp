// SPDX-License-Identifier: BSD-3-Clause
// The scanner on trees and link lists that break rules: each rule must fail, and name file and line.
#include "tests/structure/scan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/structure/arrows.hpp"
#include "tests/structure/linked.hpp"

namespace plumbline::structure {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PlantedTree : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "structure-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    plant("support/error.hpp", "");
    plant("pipeline/executor.hpp", "");
  }
  void TearDown() override { fs::remove_all(root_); }

  void plant(const fs::path& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  std::vector<std::string> broken() const { return scan_includes(root_).broken; }

  fs::path root_;
};

TEST_F(PlantedTree, AllowedIncludesPass) {
  plant("reference/trainer.cpp", "#include <vector>\n#include <ATen/core/Tensor.h>\n#include \"support/error.hpp\"\n");

  EXPECT_THAT(broken(), IsEmpty());
  EXPECT_EQ(scan_includes(root_).includes, 3u);
}

TEST_F(PlantedTree, AForbiddenComponentIsFoundWithFileAndLine) {
  plant("harness/judge/checks/loss.cpp", "\n#include \"pipeline/executor.hpp\"\n");

  EXPECT_THAT(broken(), ElementsAre("harness/judge/checks/loss.cpp:2: harness/judge may not use pipeline"));
}

TEST_F(PlantedTree, FindsAComponentInAngleBracketsAndWithOddSpacing) {
  plant("reference/main.cpp", "  #  include   <pipeline/executor.hpp> // why not\n");

  EXPECT_THAT(broken(), ElementsAre(HasSubstr("reference may not use pipeline")));
}

TEST_F(PlantedTree, PermissionIsNotTransitive) {
  plant("schedule/action.hpp", "");
  plant("training/loss.cpp", "#include \"schedule/action.hpp\"\n");

  EXPECT_THAT(broken(), ElementsAre(HasSubstr("training may not use schedule")));
}

TEST_F(PlantedTree, ForbiddenLibrariesAreFound) {
  plant("harness/sweep/a.cpp", "#include <torch/csrc/autograd/function.h>\n#include <mpi.h>\n");
  plant("schedule/b.hpp", "#include <c10/util/Exception.h>\n");
  plant("training/c.cu", "#include <nccl.h>\n#include <ATen/cuda/CUDAContext.h>\n");

  EXPECT_THAT(broken(), ElementsAre(HasSubstr("harness/sweep may not use torch"),
                                    HasSubstr("harness/sweep may not use mpi"), HasSubstr("schedule may not use torch"),
                                    HasSubstr("training may not use nccl"), HasSubstr("training may not use cuda")));
}

TEST_F(PlantedTree, TheOracleHasNoThreads) {
  plant("reference/trainer.cpp", "#include <thread>\n#include <condition_variable>\n");
  plant("pipeline/threads.cpp", "#include <thread>\n");

  EXPECT_THAT(broken(),
              ElementsAre(HasSubstr("trainer.cpp:1: reference may not use threads"), HasSubstr("trainer.cpp:2")));
}

TEST_F(PlantedTree, IncludesThatEscapeTheTableAreFound) {
  plant("harness/judge/a.cpp",
        "#include \"../pipeline/executor.hpp\"\n#include SOMETHING\n#include \"support/gone.hpp\"\n#include "
        "\"judge.hpp\"\n");

  EXPECT_THAT(broken(), ElementsAre(HasSubstr("from the project's root"), HasSubstr("behind a macro"),
                                    HasSubstr("there is no support/gone.hpp"), HasSubstr("from the project's root")));
}

TEST_F(PlantedTree, TheJudgeKnowsNeitherTheLauncherNorTheSweep) {
  plant("harness/launch/launcher.hpp", "");
  plant("harness/sweep/plan.hpp", "#include \"harness/launch/launcher.hpp\"\n");
  plant("harness/judge/judge.cpp", "#include \"harness/sweep/plan.hpp\"\n#include \"harness/launch/launcher.hpp\"\n");

  EXPECT_THAT(broken(), ElementsAre(HasSubstr("harness/judge may not use harness/sweep"),
                                    HasSubstr("harness/judge may not use harness/launch")));
}

TEST_F(PlantedTree, ACycleOfIncludesIsFoundThroughSourcesToo) {
  plant("record/a.hpp", "");
  plant("record/a.cpp", "#include \"record/a.hpp\"\n#include \"record/b.hpp\"\n");
  plant("record/b.hpp", "#include \"record/c.hpp\"\n");
  plant("record/c.hpp", "#include \"record/d.hpp\"\n");
  plant("record/d.hpp", "");
  EXPECT_THAT(scan_cycles(root_).broken, IsEmpty());
  plant("record/c.cpp", "#include \"record/a.hpp\"\n");

  EXPECT_THAT(scan_cycles(root_).broken,
              ElementsAre(HasSubstr("record/a is on"), HasSubstr("record/b is on"), HasSubstr("record/c is on")));
}

TEST_F(PlantedTree, FindsAFileOutsideTheComponents) {
  plant("harness/stray.cpp", "");
  plant("harness/judge/judge.cpp", "");

  EXPECT_THAT(scan_homeless(root_).broken, ::testing::Each("harness/stray.cpp: lies in no component"));
  EXPECT_THAT(scan_homeless(root_).broken, ::testing::Not(IsEmpty()));
}

TEST_F(PlantedTree, AFileOf601LinesIsFound) {
  plant("model/long.cpp", std::string(601, '\n'));
  plant("tests/full.cpp", std::string(600, '\n'));
  plant("scripts/long", std::string(700, '\n'));

  EXPECT_THAT(scan_sizes(root_, 600).broken,
              ElementsAre(HasSubstr("scripts/long: 700"), HasSubstr("model/long.cpp: 601 lines")));
}

TEST_F(PlantedTree, FindsANameInAStringButNotInAComment) {
  plant("harness/launch/a.cpp",
        "// mpirun\n#include \"mpirun.hpp\"\nint mpirun = f(\"a \\\" mpirun b\");  // mpirun\n");
  plant("harness/launch/there.cpp", "auto name = \"mpirun\";\n");

  const Findings findings = scan_texts(root_, "harness", {"mpirun"}, {"harness/launch/there.cpp"});

  EXPECT_THAT(findings.broken, ElementsAre("harness/launch/a.cpp:3: names mpirun"));
  EXPECT_EQ(findings.files, 2U);
  EXPECT_THAT(scan_code(root_, "harness", {"int mpirun"}, {}).broken,
              ElementsAre("harness/launch/a.cpp:3: names int mpirun"));
  EXPECT_THAT(scan_code(root_, "harness", {"mpirun.hpp"}, {}).broken, IsEmpty());
}

TEST(LinkInterface, ForbiddenComponentsAndLibrariesAreFound) {
  EXPECT_THAT(check_link_interface("harness/sweep", {"plumbline_options", "plumbline::reports", "plumbline::json"}),
              IsEmpty());
  EXPECT_THAT(check_link_interface("harness/sweep", {"plumbline::reference"}),
              ElementsAre("harness/sweep links the component reference"));
  EXPECT_THAT(check_link_interface("harness/sweep", {"plumbline::torch"}),
              ElementsAre("harness/sweep links plumbline::torch"));
  EXPECT_THAT(check_link_interface("record", {"MPI::MPI_C"}), ElementsAre("record links MPI::MPI_C"));
  EXPECT_THAT(check_link_interface("reference", {"Threads::Threads"}), ElementsAre("reference links Threads::Threads"));
  EXPECT_THAT(check_link_interface("reference", {"/usr/lib/libmpi.so"}),
              ElementsAre("reference links /usr/lib/libmpi.so"));
  EXPECT_THAT(check_link_interface("pipeline", {"plumbline::torch", "MPI::MPI_C", "plumbline::schedule"}), IsEmpty());
}

TEST(LoadedLibraries, AMissingProgramIsAnError) {
  EXPECT_THROW(loaded_libraries("/nonexistent/program"), std::runtime_error);
}

TEST(Allowances, NameOnlyListedComponentsAndHaveNoCycle) {
  for (const auto& [component, may] : allowances()) {
    for (const std::string& used : may.components) {
      ASSERT_TRUE(allowances().contains(used)) << component << " uses " << used;
      EXPECT_FALSE(allowances().at(used).components.contains(component))
          << component << " and " << used << " use each other";
    }
  }
}

}  // namespace
}  // namespace plumbline::structure
