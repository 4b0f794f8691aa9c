// SPDX-License-Identifier: BSD-3-Clause
#include "record/not_recorded.hpp"

#include <gmock/gmock.h>

#include "record/manifest.hpp"
#include "record/required_tables.hpp"
#include "support/error.hpp"
#include "tests/record/sample.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Json of(const std::string& what) {
  return Json::array({{{"what", what}, {"why", "torch hides it"}}});
}

Json external_manifest(const Json& not_recorded) {
  Json json = sample_manifest();
  json["role"] = "external";
  json["not_recorded"] = not_recorded;
  return json;
}

std::string refusal(const Json& json) {
  return error_of<InputError>([&] { parse_manifest("manifest.json", json); });
}

TEST(NotRecordedKey, IsReadOfTheManifest) {
  EXPECT_THAT(parse_manifest("manifest.json", external_manifest(of("receives"))).not_recorded,
              ElementsAre(NotRecorded{"receives", "torch hides it"}));
  EXPECT_THAT(parse_manifest("manifest.json", sample_manifest()).not_recorded, IsEmpty());
}

TEST(NotRecordedKey, EveryKindIsKnown) {
  for (const auto& kind : kinds_of_rows()) {
    const Manifest manifest = parse_manifest("manifest.json", external_manifest(of(kind)));
    EXPECT_FALSE(manifest.recorded({"waits", kind}));
    EXPECT_EQ(manifest.recorded({"waits"}), kind != "waits");
  }
}

TEST(NotRecordedKey, AnotherFormIsRefusedWithItsKey) {
  EXPECT_THAT(refusal(external_manifest(of("weights"))), HasSubstr("not_recorded[0].what"));
  EXPECT_THAT(refusal(external_manifest("receives")), HasSubstr("key not_recorded"));
  EXPECT_THAT(refusal(external_manifest(nullptr)), HasSubstr("key not_recorded"));
  EXPECT_THAT(refusal(external_manifest(Json::array({"receives"}))), HasSubstr("not_recorded[0]"));
  EXPECT_THAT(refusal(external_manifest(Json::array({{{"what", "receives"}}}))), HasSubstr("not_recorded[0].why"));

  Json of_ours = external_manifest(of("receives"));
  of_ours["role"] = "pipeline";
  EXPECT_THAT(refusal(of_ours), HasSubstr("key not_recorded: is allowed only in an external record"));
}

TEST(NotRecordedKey, WhatCrossesMayThenBeAbsent) {
  const auto demand = [](const char* kind) {
    return demand_of("boundaries.csv", parse_manifest("manifest.json", external_manifest(of(kind))), 0);
  };
  EXPECT_EQ(demand("receives"), Demand::header);
  EXPECT_EQ(demand("boundaries"), Demand::header);
  EXPECT_EQ(demand("losses"), Demand::rows);
}

TEST(NotRecordedKey, AVersionOfTorchIsTakenWhereItLooksLikeOne) {
  const auto torch = [](const Json& version) {
    Json json = sample_manifest();
    json["versions"] = {{"torch", version}};
    return parse_manifest("manifest.json", json).version_of("torch");
  };
  EXPECT_EQ(torch("2.16.0+cu130"), "2.16.0+cu130");
  EXPECT_EQ(torch("<script>"), "");
  EXPECT_EQ(torch(2), "");
  Json without = sample_manifest();
  without.erase("versions");
  EXPECT_EQ(parse_manifest("manifest.json", without).version_of("torch"), "");
}

}  // namespace
}  // namespace plumbline::testing
