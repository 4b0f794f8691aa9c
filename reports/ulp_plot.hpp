// By how many units in the last place the elements of a tensor are off.
#pragma once

#include <string>
#include <vector>

#include "record/value_findings.hpp"

namespace plumbline {

/// A bar a bucket, on a logarithmic axis, its count above it. An SVG element; empty without buckets.
std::string draw_ulps(const std::vector<UlpBucket>& buckets, const std::string& title);

/// "0", "1", "2-3".
std::string bucket_text(const UlpBucket& bucket);

}  // namespace plumbline
