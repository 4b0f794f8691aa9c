// SPDX-License-Identifier: BSD-3-Clause
// A group of messages as one operation of a stream.
#pragma once

#include <memory>
#include <vector>

#include "tests/strict_nccl/nccl_model.hpp"

namespace plumbline::strict {

class GroupWork : public Work {
 public:
  GroupWork(std::vector<std::shared_ptr<Transfer>> transfers, const Settings& settings)
      : transfers_(std::move(transfers)), settings_(settings) {}

  bool run(Stream& stream, DeviceModel& model) override;
  std::set<int> waits_for() const override;
  std::string text() const override;
  const std::vector<std::shared_ptr<Transfer>>& transfers() const { return transfers_; }

 private:
  void begin(Stream& stream, DeviceModel& model);
  void move(Transfer& transfer, DeviceModel& model);

  std::vector<std::shared_ptr<Transfer>> transfers_;
  const Settings& settings_;
  bool begun_ = false;
};

/// Fills a receive buffer with invalid values: NaN in every floating-point type.
void poison(const Transfer& receive);
std::size_t hash_of(const Transfer& transfer);

}  // namespace plumbline::strict
