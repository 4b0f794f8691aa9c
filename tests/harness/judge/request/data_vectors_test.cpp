// SPDX-License-Identifier: BSD-3-Clause
// docs/data.md: the judge's reading of data compared with fixtures/data_vectors.json, which the tests of trainers and
// cross-checks use too. The requests are those of a sweep.
#include <gmock/gmock.h>

#include "harness/judge/request/token_source.hpp"
#include "harness/sweep/run_facts.hpp"
#include "support/json.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/token_file_bytes.hpp"

namespace plumbline::judging {
namespace {

/// Writes the case's files and its run file to `folder`; returns the request that a sweep makes from them.
Request request_of(const Json& given, const testing::TemporaryFolder& folder) {
  for (const auto& file : given.at("files").items()) folder.file(file.key(), testing::file_of_vectors(file.value()));
  folder.file("config.json", "{}");
  PlannedReference reference;
  reference.run = folder.file("run.toml", "[model]\nconfig = \"config.json\"\n[train]\nsteps = 1\n[data]\n" +
                                              given.at("data").get<std::string>());
  return make_request(SweepFile{}, reference);
}

TEST(JudgedDataVectors, EachMicrobatchHasTheDocumentedDigest) {
  const Json cases = read_json(testing::fixtures_path() + "/data_vectors.json", most_of_json, JsonTexts::as_written);
  ASSERT_GE(cases.size(), 11U);
  for (const Json& given : cases) {
    SCOPED_TRACE(given.at("name").get<std::string>());
    const testing::TemporaryFolder folder;
    const Request request = request_of(given, folder);
    ASSERT_TRUE(request.data && request.microbatches);
    TokenSource source(*request.data, *request.microbatches);
    for (const Json& expected : given.at("microbatches")) {
      EXPECT_EQ(
          source.data_digest(expected.at("step").get<std::int64_t>(), expected.at("microbatch").get<std::int64_t>()),
          expected.at("digest").get<std::string>());
    }
  }
}

}  // namespace
}  // namespace plumbline::judging
