// SPDX-License-Identifier: BSD-3-Clause
#include "tests/strict_nccl/nccl_model.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "tests/strict_nccl/group_work.hpp"

namespace plumbline::strict {
namespace {

struct TypeInfo {
  std::size_t bytes;
  const char* name;
};

TypeInfo info(NcclType type) {
  constexpr std::array<TypeInfo, 8> all = {{{1, "int8"},
                                            {1, "uint8"},
                                            {4, "int32"},
                                            {8, "int64"},
                                            {2, "float16"},
                                            {4, "float32"},
                                            {8, "float64"},
                                            {2, "bfloat16"}}};
  return all.at(static_cast<std::size_t>(type));
}

}  // namespace

std::size_t Transfer::bytes() const {
  return count * info(type).bytes;
}

std::string Transfer::text() const {
  return "rank " + std::to_string(rank()) + "'s " + (send ? "send" : "receive") + " of " + std::to_string(count) + " " +
         info(type).name + (send ? " to rank " + std::to_string(to) : " from rank " + std::to_string(from));
}

NcclCommunicator NcclModel::init(int rank, const std::string& id, int ranks, int own) {
  if (settings_.init_fails_on.contains(rank)) {
    throw GpuError("ncclCommInitRankConfig", "unhandled cuda error (planted)");
  }
  Clique& clique = cliques_[id];
  if (clique.members.empty()) clique.members.resize(static_cast<std::size_t>(ranks));
  if (clique.members.size() != static_cast<std::size_t>(ranks) || own < 0 || own >= ranks) {
    throw GpuError("ncclCommInitRankConfig", "invalid argument: rank " + std::to_string(own) + " of " +
                                                 std::to_string(ranks) + " in a communicator of " +
                                                 std::to_string(clique.members.size()));
  }
  Member& member = clique.members[static_cast<std::size_t>(own)];
  if (member.here) throw GpuError("ncclCommInitRankConfig", "invalid usage: this rank has joined with this id before");
  member.here = true;
  member.rank = rank;
  member.busy_answers = settings_.busy_answers;
  const auto handle = static_cast<NcclCommunicator>(++last_handle_);
  handles_[handle] = {id, static_cast<std::size_t>(own)};
  return handle;
}

bool NcclModel::start(int rank, Passed& group) {
  if (group.busy_answers > 0 || (settings_.launch_waits && !device_.all_idle(rank))) return false;
  device_.put(std::exchange(group.works, {}));
  return true;
}

NcclState NcclModel::state(NcclCommunicator communicator) {
  Member& own = member(communicator);
  Clique& all = clique(communicator);
  if (!own.failure.empty()) return {NcclProgress::failed, own.failure};
  const auto joined = [&](const Member& each) { return each.here && !settings_.init_never_ends.contains(each.rank); };
  if (!std::ranges::all_of(all.members, joined)) return {NcclProgress::busy, {}};
  const auto ends = [](const Member& each) { return each.finalizing || each.gone; };
  if (own.finalizing && (settings_.finalize_never_ends || !std::ranges::all_of(all.members, ends))) {
    return {NcclProgress::busy, {}};
  }
  if (own.busy_answers > 0) {
    --own.busy_answers;
    return {NcclProgress::busy, {}};
  }
  if (!own.starts()) return {NcclProgress::done, {}};
  if (own.passed->busy_answers > 0) {
    if (communicator == own.passed->first) --own.passed->busy_answers;
    return {NcclProgress::busy, {}};
  }
  return {start(own.rank, *own.passed) ? NcclProgress::done : NcclProgress::busy, {}};
}

NcclProgress NcclModel::start_group(int rank, const std::vector<Call>& calls) {
  if (calls.empty()) return NcclProgress::done;
  const auto group = std::make_shared<Passed>();
  group->first = calls.front().communicator;
  group->busy_answers = settings_.busy_answers;
  std::map<NcclCommunicator, std::vector<std::shared_ptr<Transfer>>> transfers;
  for (const Call& call : calls) {
    Member& own = member(call.communicator);
    Clique& all = clique(call.communicator);
    if (own.gone || own.finalizing) throw GpuError("ncclGroupEnd", "invalid usage: the communicator is closed");
    if (own.busy_answers > 0 || own.starts() || !std::ranges::all_of(all.members, &Member::here)) {
      throw GpuError("ncclGroupEnd",
                     "invalid argument: attempt to use a communicator before the previous operation was done");
    }
    const int peer = all.members.at(static_cast<std::size_t>(call.peer)).rank;
    if (peer == rank) throw GpuError("ncclGroupEnd", "rule of this project: no messages to oneself");
    if (own.stream == 0) own.stream = call.stream;
    if (own.stream != call.stream) {
      throw GpuError("ncclGroupEnd", "rule of this project: one stream for each communicator");
    }
    auto transfer = std::make_shared<Transfer>();
    transfer->clique = &all;
    transfer->from = call.send ? rank : peer;
    transfer->to = call.send ? peer : rank;
    transfer->send = call.send;
    transfer->data = call.data;
    transfer->count = call.count;
    transfer->type = call.type;
    transfer->stream = call.stream;
    // No remaining operation writes this memory, so it is final.
    if (!device_.will_be_used({transfer->data, transfer->bytes()})) {
      if (call.send) transfer->content = hash_of(*transfer);
      transfer->content_known = call.send;
      if (!call.send) poison(*transfer);
    }
    Clique::Way& way = all.ways[{transfer->from, transfer->to}];
    (call.send ? way.sends : way.receives).push_back(transfer);
    transfers[call.communicator].push_back(std::move(transfer));
  }
  for (auto& [communicator, each] : transfers) {
    Member& own = member(communicator);
    own.passed = group;
    group->works.emplace_back(own.stream, std::make_unique<GroupWork>(std::move(each), settings_));
  }
  return start(rank, *group) ? NcclProgress::done : NcclProgress::busy;
}

bool NcclModel::starts_later(int stream) const {
  return std::ranges::any_of(cliques_, [&](const auto& entry) {
    return std::ranges::any_of(entry.second.members, [&](const Member& member) {
      return member.starts() &&
             std::ranges::any_of(member.passed->works, [&](const auto& work) { return work.first == stream; });
    });
  });
}

void NcclModel::finalize(NcclCommunicator communicator) {
  Member& own = member(communicator);
  if (own.finalizing) throw GpuError("ncclCommFinalize", "invalid argument: it was finalized before");
  own.finalizing = true;
  own.busy_answers = settings_.busy_answers;
}

void NcclModel::destroy(NcclCommunicator communicator) {
  const Member& own = member(communicator);
  if (!own.finalizing || state(communicator).progress != NcclProgress::done) {
    device_.note("rank " + std::to_string(own.rank) + " destroys a communicator that is not finalized");
  }
  abort(communicator);
}

void NcclModel::abort(NcclCommunicator communicator) {
  Member& own = member(communicator);
  own.gone = true;
  if (own.passed) std::erase_if(own.passed->works, [&](const auto& work) { return work.first == own.stream; });
  Clique& all = clique(communicator);
  const auto is_own = [&](const std::shared_ptr<Transfer>& each) { return each->rank() == own.rank; };
  device_.drop([&](const Work& work) {
    const auto* group = dynamic_cast<const GroupWork*>(&work);
    return group != nullptr && group->transfers().front()->clique == &all && is_own(group->transfers().front());
  });
  for (auto& [ends, way] : all.ways) {
    std::erase_if(way.sends, is_own);
    std::erase_if(way.receives, is_own);
  }
  handles_.erase(communicator);
}

void NcclModel::fail(Clique& clique, const std::string& text) {
  for (Member& member : clique.members) {
    if (member.failure.empty()) member.failure = text;
  }
}

void NcclModel::fail(int rank, const std::string& text) {
  for (auto& [id, clique] : cliques_) {
    for (Member& member : clique.members) {
      if (member.here && member.rank == rank && member.failure.empty()) member.failure = text;
    }
  }
}

void NcclModel::fail_peers_of(int rank, const std::string& text) {
  for (auto& [id, clique] : cliques_) {
    if (std::ranges::any_of(clique.members, [&](const Member& m) { return m.here && m.rank == rank; })) {
      fail(clique, text);
    }
  }
}

void NcclModel::find_circle() {
  const std::vector<const Stream*> circle = device_.circle();
  if (circle.empty()) return;
  std::string text = "these wait for each other in a circle: ";
  for (const Stream* stream : circle) {
    text += (stream == circle.front() ? "" : "; ") + stream->entries.front().work->text();
  }
  text += ". Where two ranks send to each other, send and receive must be one group";
  device_.note(text);
  for (const Stream* stream : circle) {
    const auto* group = dynamic_cast<const GroupWork*>(stream->entries.front().work.get());
    if (group != nullptr) fail(*group->transfers().front()->clique, text);
  }
}

std::vector<std::string> NcclModel::leftovers() const {
  std::vector<std::string> left;
  for (const auto& [handle, made] : handles_) {
    left.push_back("a communicator of rank " + std::to_string(cliques_.at(made.id).members[made.own].rank));
  }
  return left;
}

}  // namespace plumbline::strict
