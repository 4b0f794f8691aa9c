// SPDX-License-Identifier: BSD-3-Clause
#include "training/memory_meter.hpp"

#include <c10/core/CPUAllocator.h>

#include <cstddef>
#include <deque>
#include <mutex>
#include <new>
#include <stdexcept>
#include <unordered_map>

namespace plumbline {

namespace {

// LibTorch's own alignment, so that a tensor's data after the header stays aligned.
constexpr std::size_t header_bytes = 64;

struct Header {
  std::int64_t bytes;
  MemoryMeter* meter;
  MemoryOwner owner;
  c10::Allocator* inner = nullptr;  ///< the allocator of the block
};
static_assert(sizeof(Header) <= header_bytes);

// Thread-locals, because an allocator hook has no argument for rank or owner.
thread_local MemoryMeter* current_meter = nullptr;
thread_local MemoryOwner current_owner = MemoryOwner::other;

Header& header_of(void* data) {
  return *std::launder(reinterpret_cast<Header*>(static_cast<std::byte*>(data) - header_bytes));
}

}  // namespace

struct CountingAllocator final : c10::Allocator {
  explicit CountingAllocator(c10::Allocator* inner) : inner_(inner) {}

  c10::DataPtr allocate(std::size_t bytes) override {
    const c10::Device cpu(c10::DeviceType::CPU);
    if (bytes == 0) {
      return {nullptr, nullptr, &release, cpu};
    }
    void* block = inner_->raw_allocate(bytes + header_bytes);
    MemoryMeter& meter = this_thread_meter();
    const auto counted = meter.devices_alone_ ? 0 : static_cast<std::int64_t>(bytes);
    new (block) Header{counted, &meter, current_owner, inner_};
    meter.add(current_owner, counted);
    // Data pointer and context must be equal: LibTorch treats such a block as one that it may free by its data pointer
    // alone.
    void* data = static_cast<std::byte*>(block) + header_bytes;
    return {data, data, &release, cpu};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }

  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

  static void release(void* data) {
    if (data == nullptr) {
      return;
    }
    Header& header = header_of(data);
    header.meter->subtract(header.owner, header.bytes);
    header.inner->raw_deallocate(&header);
  }

 private:
  c10::Allocator* inner_;
};

/// Storages on GPUs are identified by address, since no header can be written before their data.
struct DeviceStorages {
  std::mutex lock;
  std::unordered_map<const void*, Header> headers;

  void add(const void* address, std::int64_t bytes) {
    MemoryMeter& meter = this_thread_meter();
    const std::lock_guard guard(lock);
    headers[address] = {bytes, &meter, current_owner};
    meter.add(current_owner, bytes);
  }

  void remove(const void* address) {
    const std::lock_guard guard(lock);
    const auto found = headers.find(address);
    if (found == headers.end()) {
      return;
    }
    found->second.meter->subtract(found->second.owner, found->second.bytes);
    headers.erase(found);
  }
};

namespace {

DeviceStorages& device_storages() {
  static DeviceStorages& storages = *new DeviceStorages;  // never freed: tensors may outlive every rank
  return storages;
}

}  // namespace

void count_device_allocation(const void* address, std::int64_t bytes) {
  device_storages().add(address, bytes);
}

void count_device_free(const void* address) {
  device_storages().remove(address);
}

void MemoryMeter::attach() {
  current_meter = this;
}

MemoryMeter& new_memory_meter() {
  // Never freed, because a tensor that outlives its rank still decrements the counters here.
  static std::mutex& lock = *new std::mutex;
  static std::deque<MemoryMeter>& meters = *new std::deque<MemoryMeter>;
  const std::lock_guard guard(lock);
  return meters.emplace_back();
}

MemoryMeter& this_thread_meter() {
  if (current_meter == nullptr) {
    new_memory_meter().attach();
  }
  return *current_meter;
}

void install_memory_meter() {
  static std::once_flag installed;
  std::call_once(installed, [] {
    auto* made = new CountingAllocator(c10::GetCPUAllocator());
    c10::SetCPUAllocator(made, 1);
    if (c10::GetCPUAllocator() != made) {
      throw std::logic_error("another CPU allocator of higher priority is in place: tensor bytes cannot be counted");
    }
  });
}

MemoryScope::MemoryScope(MemoryOwner owner) : before_(current_owner) {
  current_owner = owner;
}

MemoryScope::~MemoryScope() {
  current_owner = before_;
}

namespace {

/// The header of a storage that the meter allocated; null for any other.
Header* counted_header(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) {
    return nullptr;
  }
  const c10::DataPtr& pointer = tensor.storage().data_ptr();
  if (!tensor.is_cpu()) {
    // The header is valid while its storage lives, and the caller holds the storage.
    DeviceStorages& storages = device_storages();
    const std::lock_guard guard(storages.lock);
    const auto found = storages.headers.find(pointer.get());
    return found == storages.headers.end() ? nullptr : &found->second;
  }
  if (pointer.get_deleter() != &CountingAllocator::release || pointer.get_context() == nullptr) {
    return nullptr;
  }
  return &header_of(pointer.get_context());
}

}  // namespace

void retag(const at::Tensor& tensor, MemoryOwner owner) {
  Header* header = counted_header(tensor);
  if (header == nullptr) {
    return;
  }
  MemoryMeter& meter = this_thread_meter();
  // A change of owner within a rank is not an allocation: the rank's total and peak stay unchanged.
  if (header->meter != &meter) {
    // In this order, so that all ranks together never count less than what is allocated.
    meter.total_.add(header->bytes);
    header->meter->total_.subtract(header->bytes);
  }
  header->meter->counter(header->owner).subtract(header->bytes);
  meter.counter(owner).add(header->bytes);
  header->meter = &meter;
  header->owner = owner;
}

std::int64_t storage_bytes(const at::Tensor& tensor) {
  const Header* header = counted_header(tensor);
  return header == nullptr ? 0 : header->bytes;
}

}  // namespace plumbline
