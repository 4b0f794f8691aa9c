// A page of headings, tables and figures, made without a template: bench's and history's.
#pragma once

#include <string>

namespace plumbline {

/// `<name ATTRIBUTES>text</name>`, the text escaped. `attributes` are HTML and begin with a space: ` class="num"`.
std::string html_element(const std::string& name, const std::string& text, const std::string& attributes = "");

/// A whole HTML page. `title` is text; `body` is HTML, for which there are the styles: classes soft (small print), bad
/// (a warning), kind (a word that matters), num (cells of numbers), table (around what is wider than the screen),
/// changes (a table whose last column is prose).
std::string plain_page(const std::string& title, const std::string& body);

}  // namespace plumbline
