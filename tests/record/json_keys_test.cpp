// SPDX-License-Identifier: BSD-3-Clause
#include "record/json_keys.hpp"

#include <gtest/gtest.h>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

template <typename Ask>
std::string refusal_of(const Json& json, Ask ask) {
  return error_of<InputError>([&] { ask(JsonKeys("f.json", json)); });
}

TEST(JsonKeys, NamesAKeyByItsFullPath) {
  const Json json = {{"a", {{"b", {{"c", 1}}}, {"list", {{{"d", 1}}, {{"d", "text"}}}}}}, {"number", 1}};

  EXPECT_EQ(refusal_of(json, [](const JsonKeys& keys) { keys.object("a").object("b").text("c"); }),
            "f.json: key a.b.c: must be a string");
  EXPECT_EQ(refusal_of(json, [](const JsonKeys& keys) { keys.object("a").objects("list")[1].integer("d", 0); }),
            "f.json: key a.list[1].d: must be an integer");
  EXPECT_EQ(refusal_of(json, [](const JsonKeys& keys) { keys.object("number"); }),
            "f.json: key number: must be a JSON object");
  EXPECT_EQ(refusal_of(json, [](const JsonKeys& keys) { keys.objects("number"); }),
            "f.json: key number: must be a list of objects");
  EXPECT_EQ(refusal_of(json, [](const JsonKeys& keys) { keys.text("x"); }), "f.json: key x: is missing");
  EXPECT_EQ(refusal_of(Json(3), [](const JsonKeys&) {}), "f.json: must be a JSON object");
  const Json list = {{"list", {1}}};
  EXPECT_EQ(refusal_of(list, [](const JsonKeys& keys) { keys.objects("list"); }),
            "f.json: key list[0]: must be a JSON object");
}

TEST(JsonKeys, IntegersHaveLimits) {
  const auto most = std::numeric_limits<std::int64_t>::max();
  const auto read = [](const Json& value, std::int64_t smallest, std::int64_t largest) {
    return JsonKeys("f.json", {{"n", value}}).integer("n", smallest, largest);
  };
  const auto refused = [&](const Json& value, std::int64_t smallest, std::int64_t largest) {
    return error_of<InputError>([&] { read(value, smallest, largest); });
  };

  EXPECT_EQ(read(3, 3, 5), 3);
  EXPECT_EQ(read(5U, 3, 5), 5);
  EXPECT_EQ(read(-4, -4, -2), -4);
  EXPECT_EQ(read(-2, -4, -2), -2);
  EXPECT_EQ(read(static_cast<std::uint64_t>(most), 0, most), most);
  EXPECT_EQ(refused(2, 3, 5), "f.json: key n: 2 is not between 3 and 5");
  EXPECT_EQ(refused(6U, 3, 5), "f.json: key n: 6 is not between 3 and 5");
  EXPECT_EQ(refused(-1, -4, -2), "f.json: key n: -1 is not between -4 and -2");
  EXPECT_EQ(refused(static_cast<std::uint64_t>(most) + 1, 0, most),
            "f.json: key n: 9223372036854775808 is not between 0 and 9223372036854775807");
  // As a signed 64-bit number it would be within the limits.
  EXPECT_EQ(refused(std::numeric_limits<std::uint64_t>::max(), -5, 5),
            "f.json: key n: 18446744073709551615 is not between -5 and 5");
}

}  // namespace
}  // namespace plumbline::testing
