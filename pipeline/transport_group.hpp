// The ranks of a transport as a group that agrees.
#pragma once

#include "pipeline/transport/transport.hpp"
#include "training/rank_group.hpp"

namespace plumbline {

class TransportGroup : public RankGroup {
 public:
  explicit TransportGroup(Transport& transport) : transport_(transport) {}

  int rank() const override { return transport_.rank(); }
  int size() const override { return transport_.world_size(); }
  std::vector<std::string> gather(const std::string& bytes) override { return transport_.gather(bytes); }
  std::string broadcast(const std::string& bytes) override { return transport_.broadcast(bytes); }

 private:
  Transport& transport_;
};

}  // namespace plumbline
