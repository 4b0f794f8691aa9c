// SPDX-License-Identifier: BSD-3-Clause
// Escapes foreign text.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace plumbline {

/// The text with every byte that is not UTF-8, and every control character but tab and line feed, shown as U+FFFD:
/// XML 1.0 does not allow those.
std::string valid_in_xml(std::string_view text);

/// `valid_in_xml`, with each of these characters replaced by its text.
std::string escaped(std::string_view text, const std::map<char, std::string_view>& escapes);

/// `printable`, with & < > " ' and line feeds escaped: an attribute's value or an element's text in XML 1.0.
std::string xml_escape(std::string_view text);

}  // namespace plumbline
