#include "training/make_slice.hpp"

#include "model/unit.hpp"
#include "training/memory_meter.hpp"
#include "training/tensor_record.hpp"

namespace plumbline {

LlamaSlice make_slice(const TrainingRun& training, UnitRange units, std::optional<at::ScalarType> tables_in) {
  LlamaSlice slice = [&] {
    const MemoryScope scope(MemoryOwner::parameters);
    return LlamaSlice(training.config, units, parse_dtype(training.run.train.dtype), training.device);
  }();
  {
    const MemoryScope scope(MemoryOwner::gradients);
    slice.allocate_gradients();
  }
  const MemoryScope scope(MemoryOwner::tables);
  slice.prepare_tables(training.plan.longest_sequence(), tables_in);
  return slice;
}

}  // namespace plumbline
