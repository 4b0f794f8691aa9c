// SPDX-License-Identifier: BSD-3-Clause
// Checks the structure rules on the real tree. scan_test.cpp shows that each of them can fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/paths.hpp"
#include "tests/structure/arrows.hpp"
#include "tests/structure/linked.hpp"
#include "tests/structure/scan.hpp"

namespace plumbline::structure {
namespace {

using ::testing::IsEmpty;

std::string libraries_of(const std::set<std::string>& files) {
  std::set<std::string> found;
  for (const std::string& file : files) {
    // libtorch_cpu always loads these two small libraries, whether it uses them or not.
    if (file.starts_with("libcudart.so") || file.starts_with("libcupti.so")) continue;
    const std::string library = library_of_link_item(file);
    if (!library.empty() && library != "threads")
      found.insert(library + (file.find("cuda") != std::string::npos ? "(GPU)" : ""));
  }
  std::string text;
  for (const std::string& name : found) text += (text.empty() ? "" : " ") + name;
  return text;
}

TEST(Components, IncludeOnlyWhatTheTableAllows) {
  const Findings findings = scan_includes(testing::source_path());

  EXPECT_THAT(findings.broken, IsEmpty());
  EXPECT_GT(findings.includes, findings.files);
  for (const auto& [component, may] : allowances())
    EXPECT_GT(findings.files_of_component.count(component), 0u) << component << " was not found";
}

// Only the harness: model/, pipeline/ and transport/ have small cycles between a header and its parts.
TEST(Components, HarnessHasNoCycleOfIncludes) {
  const Findings findings = scan_cycles(testing::source_path());

  EXPECT_THAT(findings.broken, ::testing::Not(::testing::Contains(::testing::StartsWith("harness/"))));
  EXPECT_GT(findings.includes, findings.files / 2);
}

TEST(Components, ContainEverySourceFile) {
  const Findings findings = scan_homeless(testing::source_path());

  EXPECT_THAT(findings.broken, IsEmpty());
  EXPECT_GT(findings.files, 100u);
}

TEST(Components, LinkOnlyWhatTheTableAllows) {
  std::ifstream interfaces(
      testing::bin_path() +
      "/../generated/link_interfaces.txt");  // one line for each component: "<component>;<item>;<item>..."
  std::size_t components = 0;

  for (std::string line; std::getline(interfaces, line);) {
    std::istringstream cells(line);
    std::string component, item;
    std::getline(cells, component, ';');
    std::vector<std::string> items;
    while (std::getline(cells, item, ';')) items.push_back(item);
    ASSERT_THAT(items, ::testing::Not(IsEmpty())) << component;
    EXPECT_THAT(check_link_interface(component, items), IsEmpty());
    ++components;
  }

  EXPECT_EQ(components, allowances().size());
}

TEST(Components, HaveNoFileOfMoreThan600Lines) {
  const Findings findings = scan_sizes(testing::source_path(), 600);

  EXPECT_THAT(findings.broken, IsEmpty());
  EXPECT_GT(findings.files, 100u);
}

/// The sweep's file says which trainers to start, with which launcher; the code names the defaults in one place each.
TEST(Programs, EachIsNamedInOnePlaceOfTheHarness) {
  const Findings findings = scan_texts(
      testing::source_path(), "harness", {"plumbline-pipeline", "plumbline-reference", "mpirun", "mpiexec"},
      {"harness/sweep/run_commands.hpp", "harness/sweep/first_sweep.cpp", "harness/launch/default_launcher.cpp"});

  EXPECT_THAT(findings.broken, IsEmpty());
  EXPECT_GT(findings.files, 100u);
}

TEST(Judge, OnlyItsReaderAsksWhoWroteARecord) {
  const Findings findings = scan_code(
      testing::source_path(), "harness/judge", {"external()", "\"external\"", "traits", "may_lack", ".recorded("},
      {"harness/judge/facts/recorded.cpp", "harness/judge/evidence/model_of_records.cpp"});

  EXPECT_THAT(findings.broken, IsEmpty());
  EXPECT_GT(findings.files, 50u);
}

TEST(Programs, TheJudgeLoadsNeitherLibTorchNorMpi) {
  EXPECT_EQ(libraries_of(loaded_libraries(testing::bin_path() + "/plumbline")), "");
}

TEST(Programs, TheReferenceLoadsNeitherMpiNorLibTorchsGpuPart) {
  EXPECT_EQ(libraries_of(loaded_libraries(testing::bin_path() + "/plumbline-reference")), "torch");
}

// This also shows that the two tests above would see MPI if it were there.
TEST(Programs, ThePipelineLoadsMpiButNotLibTorchsGpuPart) {
  EXPECT_EQ(libraries_of(loaded_libraries(testing::bin_path() + "/plumbline-pipeline")), "mpi torch");
}

}  // namespace
}  // namespace plumbline::structure
