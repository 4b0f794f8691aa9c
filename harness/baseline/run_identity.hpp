// By what a run, a code path and a machine are known again, in a baseline and in a history.
#pragma once

#include <string>

#include "support/json.hpp"

namespace plumbline {

/// A request with the names of its files in place of their paths, and without what an older one did not have to say.
Json without_places(Json request);

/// Digest of a request without where its files lay: the same sweep in another checkout asks for the same. Empty where
/// nobody asked.
std::string asked_digest(Json request);

/// Those keys of a verdict's machine block on which the bits of a result depend where the source is the same.
Json code_path_of(const Json& environment);

/// Of a code path: 12 hex digits.
std::string code_path_fingerprint(const Json& environment);

/// Of what times depend on beside source and libraries, device, processor, cores and GPUs: 12 hex digits. Times of two
/// machines are never compared.
std::string machine_fingerprint(const Json& environment);

/// Of the trainers; empty where it is not said.
std::string commit_of(const Json& environment);

/// The machine for people: "Intel(R) Xeon(R) Processor, 2 cores".
std::string machine_name(const Json& environment);

}  // namespace plumbline
