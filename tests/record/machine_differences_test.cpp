// SPDX-License-Identifier: BSD-3-Clause
#include "record/machine_differences.hpp"

#include <gmock/gmock.h>

#include "record/rank_folder.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// "key: reference | candidate"
std::vector<std::string> differences(const Record& reference, const Record& candidate) {
  std::vector<std::string> lines;
  for (const auto& [key, one, other] : machine_differences(reference, candidate))
    lines.push_back(key + ": " + one + " | " + other);
  return lines;
}

class MachineDifferences : public ::testing::Test {
 protected:
  Record record_of(const char* json, const std::vector<std::string>& of_ranks = {}) {
    Record record;
    record.path = folder_ / ("record-" + std::to_string(++made_));
    record.manifest.device = "cpu";
    record.manifest.json = Json::parse(json);
    record.manifest.world_size = std::max<std::int64_t>(1, std::ssize(of_ranks));
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
      const auto of_rank = record.path / rank_folder(static_cast<std::int64_t>(rank));
      make_folder(of_rank);
      write_file(of_rank / rank_machine_name, of_ranks[rank]);
      record.ranks.emplace_back().rank = static_cast<std::int64_t>(rank);
      record.ranks.back().machine = read_rank_machine(of_rank / rank_machine_name);
    }
    return record;
  }

  testing::TemporaryFolder folder_;
  int made_ = 0;
};

TEST_F(MachineDifferences, NameWhatDiffersBetweenTheManifests) {
  const auto reference = record_of(R"({"versions": {"libtorch": "2.11.0", "compiler": "g++"},
                                       "environment": {"tf32": false}, "machine": {"cores": 2}})");
  const auto candidate = record_of(R"({"versions": {"libtorch": "2.10.0", "compiler": "g++", "mpi": "4.1"},
                                       "environment": {"tf32": true, "OMP": null, "MKL_CBWR": "AVX2"},
                                       "machine": {"cores": 2}})");

  EXPECT_THAT(differences(reference, candidate),
              ElementsAre("environment/MKL_CBWR: - | AVX2", "environment/tf32: false | true",
                          "versions/libtorch: 2.11.0 | 2.10.0"))
      << "MPI is not compared, since a reference has none";
  EXPECT_THAT(differences(reference, reference), IsEmpty());
  EXPECT_THAT(differences(record_of("{}"), candidate), IsEmpty()) << "a missing value is not a difference";
}

TEST_F(MachineDifferences, OmitVariablesThatSelectNoKernel) {
  const auto reference = record_of(R"({"environment": {"threads": 1}})");
  const auto candidate = record_of(R"({"environment": {"threads": 1, "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
                                                       "TORCH_LOGS": "dist", "TORCH_BLAS_PREFER_CUBLASLT": "1"}})");

  EXPECT_THAT(differences(reference, candidate), ElementsAre("environment/TORCH_BLAS_PREFER_CUBLASLT: - | 1"));
}

TEST_F(MachineDifferences, NameTheRanksOfOneRecordThatDiffer) {
  const auto reference = record_of(R"({"machine": {"aten_capability": "AVX512"}, "environment": {"threads": 1}})");
  const auto candidate = record_of(
      R"({"machine": {"aten_capability": "AVX512"}, "environment": {"threads": 1}})",
      {R"({"machine": {"aten_capability": "AVX512"}})",
       R"({"machine": {"aten_capability": "DEFAULT"}, "environment": {"threads": 1, "ATEN_CPU_CAPABILITY": "default"}})",
       "{}"});

  EXPECT_THAT(differences(reference, candidate),
              ElementsAre("environment/ATEN_CPU_CAPABILITY: - | - (ranks 0, 2), default (rank 1)",
                          "machine/aten_capability: AVX512 | AVX512 (ranks 0, 2), DEFAULT (rank 1)"));
  EXPECT_THAT(differences(candidate, candidate).size(), 2U) << "both have ranks that differ";
}

TEST_F(MachineDifferences, RefuseAMalformedFileAndNameTheKey) {
  for (const auto& [bytes, words] : std::initializer_list<std::pair<const char*, const char*>>{
           {"damaged", "machine.json:1:1: not valid JSON"},
           {"[]", "machine.json: must be a JSON object"},
           {R"({"versions": "2.11"})", "machine.json: key versions: must be a JSON object"},
           {R"({"gpu": 3})", "machine.json: key gpu: must be a string"},
           {R"({"Machine": {}})", "machine.json: key Machine: is not known; did you mean machine?"}}) {
    EXPECT_THAT(testing::error_of<InputError>([&] { read_rank_machine(folder_.file("machine.json", bytes)); }),
                ::testing::HasSubstr(words));
  }
  EXPECT_EQ(read_rank_machine(folder_ / "absent.json"), Json::object());
  EXPECT_THAT(testing::error_of<InputError>([&] { read_rank_machine(folder_ / "."); }),
              ::testing::HasSubstr("Is a directory"));
}

}  // namespace
}  // namespace plumbline
