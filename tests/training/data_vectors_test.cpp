// SPDX-License-Identifier: BSD-3-Clause
// docs/data.md: ids and labels compared with fixtures/data_vectors.json, which the tests of the judge and of the
// cross-check read too.
#include <gmock/gmock.h>

#include "support/hash.hpp"
#include "support/json.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/token_file_bytes.hpp"
#include "training/batch_plan.hpp"
#include "training/microbatch.hpp"
#include "training/tokens.hpp"

namespace plumbline {
namespace {

using Rows = std::vector<std::vector<std::int64_t>>;

Rows rows_of(const at::Tensor& tensor) {
  Rows rows;
  const auto* numbers = tensor.const_data_ptr<std::int64_t>();
  for (std::int64_t row = 0; row < tensor.size(0); ++row) {
    rows.emplace_back(numbers + row * tensor.size(1), numbers + (row + 1) * tensor.size(1));
  }
  return rows;
}

TEST(DataVectors, MatchTheDocumentedTokens) {
  const Json cases = read_json(testing::fixtures_path() + "/data_vectors.json", most_of_json, JsonTexts::as_written);
  ASSERT_GE(cases.size(), 11U);
  for (const Json& given : cases) {
    SCOPED_TRACE(given.at("name").get<std::string>());
    const testing::TemporaryFolder folder;
    for (const auto& file : given.at("files").items()) {
      folder.file(file.key(), testing::file_of_vectors(file.value()));
    }
    const auto path = folder.file("run.toml", "[model]\nconfig = \"config.json\"\n[train]\nsteps = 1\n[data]\n" +
                                                  given.at("data").get<std::string>());
    const DataSettings data = load_run_file(path).data;
    // For a large vocabulary the width of raw files must be given; these cases omit it.
    const bool raw = given.at("files").begin()->is_array();
    const Tokens tokens = load_tokens(data, raw ? 65536 : 200000);
    const BatchPlan plan(data, tokens);

    EXPECT_EQ(static_cast<std::int64_t>(hash64("data/" + std::to_string(data.seed)) %
                                        static_cast<std::uint64_t>(tokens.size())),
              given.at("start").get<std::int64_t>());
    for (const Json& expected : given.at("microbatches")) {
      const auto step = expected.at("step").get<std::int64_t>();
      const auto microbatch = expected.at("microbatch").get<std::int64_t>();
      const Microbatch made = plan.make(step, microbatch);
      EXPECT_EQ(rows_of(made.ids), expected.at("ids").get<Rows>()) << step << "/" << microbatch;
      EXPECT_EQ(rows_of(made.labels), expected.at("labels").get<Rows>()) << step << "/" << microbatch;
      EXPECT_EQ(data_digest(plan.make(step, microbatch)), expected.at("digest").get<std::string>());
    }
  }
}

}  // namespace
}  // namespace plumbline
