// Versions as CUDA and NCCL count them, as text.
#pragma once

#include <string>

namespace plumbline {

/// "13.0" of 13000, as CUDA counts.
std::string cuda_version_text(int version);
/// "2.28.9" of 22809, as NCCL counts.
std::string nccl_version_text(int version);

}  // namespace plumbline
