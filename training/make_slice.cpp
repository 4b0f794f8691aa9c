#include "training/make_slice.hpp"

#include "training/memory_meter.hpp"
#include "training/tensor_record.hpp"

namespace plumbline {

LlamaSlice make_slice(const Session& session, UnitRange units, std::optional<at::ScalarType> tables_in) {
  LlamaSlice slice = [&] {
    const MemoryScope scope(MemoryOwner::parameters);
    return LlamaSlice(session.config, units, parse_dtype(session.run.train.dtype), session.device);
  }();
  {
    const MemoryScope scope(MemoryOwner::gradients);
    slice.allocate_gradients();
  }
  const MemoryScope scope(MemoryOwner::tables);
  slice.prepare_tables(session.plan.longest_sequence(), tables_in);
  return slice;
}

}  // namespace plumbline
