// SPDX-License-Identifier: BSD-3-Clause
// Text that came from elsewhere, made safe to stand in XML and in HTML.
#pragma once

#include <string>
#include <string_view>

namespace plumbline {

/// The text with every byte that is not UTF-8, and every control character but tab and line feed, shown as U+FFFD:
/// neither XML 1.0 nor a person can take those.
std::string printable(std::string_view text);

/// `printable`, with & < > " ' and line feeds escaped: an attribute's value or an element's text in XML 1.0.
std::string xml_escape(std::string_view text);

}  // namespace plumbline
