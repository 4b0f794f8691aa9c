#include "harness/sweep/smallest_run.hpp"

#include <gmock/gmock.h>

#include "support/json.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const char* const usual_model = R"({"num_hidden_layers": 2, "vocab_size": 512, "tie_word_embeddings": true})";

std::map<std::string, std::string> smallest_of(const TemporaryFolder& folder, const std::string& run,
                                               const std::string& model = usual_model) {
  folder.file("config.json", model);
  PlannedCell cell;
  cell.run = folder.file("run.toml", run);
  cell.plan.world = 4;
  return smallest_run(cell, folder / "launches/base");
}

TEST(SmallestRun, KeepsDataDtypeAndTransportAndNothingElseOfTheRun) {
  const TemporaryFolder folder;

  const auto files = smallest_of(folder,
                                 "[model]\nconfig = \"config.json\"\nweights = \"w.safetensors\"\n"
                                 "[data]\ntokens = \"t.bin\"\ntoken_type = \"uint16\"\nlengths = [512]\nbatch = 64\n"
                                 "[train]\nsteps = 1000\ndtype = \"bfloat16\"\noptimizer = \"sgd\"\nmomentum = 0.9\n"
                                 "[pipeline]\nschedule = \"afab\"\nbalance = [1, 1, 0, 0]\ntransport = \"mpi\"\n"
                                 "[record]\nlevel = \"dump\"\n");

  EXPECT_THAT(files.at("run.toml"), AllOf(HasSubstr("config = 'model.json'"), HasSubstr("tokens = '../../t.bin'"),
                                          HasSubstr("uint16"), HasSubstr("lengths = [ 2, 2 ]"),
                                          HasSubstr("steps = 1\n"), HasSubstr("bfloat16"), HasSubstr("mpi")));
  for (const std::string gone : {"weights", "512", "batch", "1000", "sgd", "momentum", "balance", "dump"}) {
    EXPECT_THAT(files.at("run.toml"), Not(HasSubstr(gone)));
  }
  const Json model = Json::parse(files.at("model.json"));
  EXPECT_EQ(model.at("num_hidden_layers"), 1);
  EXPECT_EQ(model.at("vocab_size"), 512) << "so that the data's tokens fit";
}

TEST(SmallestRun, KeepsTheTextWithItsOrderAndHowTheProcessIsSetUp) {
  const TemporaryFolder folder;

  const auto files = smallest_of(folder,
                                 "[model]\nconfig = \"config.json\"\n"
                                 "[data]\ntext = \"corpus\"\nseed = 11\nshuffle = true\nlengths = [512]\n"
                                 "[train]\nsteps = 1000\nseed = 13\nprecision = \"float64\"\nthreads = 3\n"
                                 "[pipeline]\ntimeout_ms = 7000\n");

  for (const std::string kept : {"text = '../../corpus'", "seed = 11", "shuffle = true", "precision = 'float64'",
                                 "threads = 3", "timeout_ms = 7000"}) {
    EXPECT_THAT(files.at("run.toml"), HasSubstr(kept));
  }
  EXPECT_THAT(files.at("run.toml"), Not(HasSubstr("seed = 13"))) << "runs of another start have the same base";
}

TEST(SmallestRun, ItsModelTakesMicrobatchesOfTwoTokensAndIsNotTied) {
  const TemporaryFolder folder;

  const Json model = Json::parse(smallest_of(folder, "[model]\nconfig = \"config.json\"\n").at("model.json"));

  EXPECT_EQ(model.at("max_position_embeddings"), 2);
  EXPECT_EQ(model.at("tie_word_embeddings"), false);
}

TEST(SmallestRun, ItsVocabularyHasATokenForEveryByteOfAText) {
  const TemporaryFolder folder;
  for (const std::string model : {R"({"vocab_size": 100})", "{}", "no JSON"}) {
    const auto files = smallest_of(folder, "[model]\nconfig = \"config.json\"\n", model);
    EXPECT_EQ(Json::parse(files.at("model.json")).at("vocab_size"), 256) << model;
  }
}

TEST(SmallestRun, OfRunsThatDifferInWhatTheyTrainIsOne) {
  const TemporaryFolder folder;
  const std::string data = "[data]\ntext = \"corpus\"\n";

  const auto one = smallest_of(folder, "[model]\nconfig = \"config.json\"\n" + data + "lengths = [4]\n");
  const auto other = smallest_of(
      folder, "[model]\nconfig = \"config.json\"\n" + data + "lengths = [9]\n[train]\noptimizer = \"sgd\"\n");

  EXPECT_EQ(one, other);
}

}  // namespace
}  // namespace plumbline::testing
