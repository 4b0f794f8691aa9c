#include "harness/judge/audit/optimizer_form.hpp"

#include <gmock/gmock.h>

namespace plumbline::auditing {
namespace {

using ::testing::HasSubstr;

Json sgd_with(const std::string& key, const Json& value) {
  Json optimizer = {{"name", "sgd"}, {"learning_rate", 0.1}, {"momentum", 0.9}, {"weight_decay", 0.0}};
  optimizer[key] = value;
  return optimizer;
}

TEST(OptimizerForm, VariantsOfAKnownOneHaveNone) {
  for (const auto& [key, value] : std::map<std::string, Json>{
           {"nesterov", true}, {"dampening", 0.5}, {"maximize", true}, {"amsgrad", true}, {"groups", 2}}) {
    EXPECT_FALSE(optimizer_form(sgd_with(key, value))) << key;
    EXPECT_THAT(why_no_form(sgd_with(key, value)), HasSubstr("no formula is known for sgd with " + key));
  }
  EXPECT_THAT(why_no_form({{"name", "lion"}}), HasSubstr("no formula is known for lion"));
}

TEST(OptimizerForm, KeysThatSayNothingOfThemChangeNothing) {
  for (const Json& value : {Json(false), Json(0), Json(0.0), Json(nullptr)}) {
    EXPECT_TRUE(optimizer_form(sgd_with("nesterov", value))) << value;
    EXPECT_EQ(why_no_form(sgd_with("dampening", value)), "");
  }
  EXPECT_EQ(optimizer_form(sgd_with("decay", "matrices"))->momentum, 0.9);
}

}  // namespace
}  // namespace plumbline::auditing
