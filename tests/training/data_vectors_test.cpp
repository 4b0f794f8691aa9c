// docs/data.md: ids and labels against fixtures/data_vectors.json, which the witness' tests read as well.
#include <gmock/gmock.h>

#include "support/hash.hpp"
#include "support/json.hpp"
#include "tests/temporary_folder.hpp"
#include "training/batch_plan.hpp"
#include "training/fed_data.hpp"
#include "training/load_tokens.hpp"
#include "training/microbatch.hpp"

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

std::string as_uint16(const std::vector<std::int64_t>& ids) {
  std::string bytes;
  for (const std::int64_t id : ids) {
    bytes += static_cast<char>(id & 0xff);
    bytes += static_cast<char>(id >> 8);
  }
  return bytes;
}

TEST(DataVectors, EachMicrobatchHoldsTheTokensThatTheDocsSay) {
  const Json cases = read_json(PLUMBLINE_FIXTURES "/data_vectors.json");
  ASSERT_GE(cases.size(), 3U);
  for (const Json& given : cases) {
    SCOPED_TRACE(given.at("name").get<std::string>());
    const testing::TemporaryFolder folder;
    for (const auto& file : given.at("files").items()) {
      const Json& content = file.value();
      folder.file(file.key(), content.is_string() ? content.get<std::string>()
                                                  : as_uint16(content.get<std::vector<std::int64_t>>()));
    }
    const auto path = folder.file("run.toml", "[model]\nconfig = \"config.json\"\n[train]\nsteps = 1\n[data]\n" +
                                                  given.at("data").get<std::string>());
    const DataSettings data = load_run_file(path).data;
    const std::vector<std::int32_t> tokens = load_tokens(data, 65536);
    const BatchPlan plan(data, tokens);

    EXPECT_EQ(static_cast<std::int64_t>(hash64("data/" + std::to_string(data.seed)) % tokens.size()),
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
