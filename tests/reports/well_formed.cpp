// SPDX-License-Identifier: BSD-3-Clause
#include "tests/reports/well_formed.hpp"

#include <cctype>

namespace plumbline::testing {
namespace {

class Parser {
 public:
  Parser(const std::string& text, bool html) : text_(text), html_(html) {}

  Markup parse() {
    while (at_ < text_.size() && result_.error.empty()) step();
    if (result_.error.empty() && !open_.empty()) fail("<" + open_.back() + "> is not closed");
    return std::move(result_);
  }

 private:
  void fail(const std::string& what) {
    if (result_.error.empty()) result_.error = what + " near: " + text_.substr(at_ > 60 ? at_ - 60 : 0, 120);
  }
  bool starts(const char* what) const { return text_.compare(at_, std::char_traits<char>::length(what), what) == 0; }
  void skip_past(const char* what) {
    const auto end = text_.find(what, at_);
    if (end == std::string::npos) return fail(std::string("no ") + what);
    at_ = end + std::char_traits<char>::length(what);
  }
  void step() {
    if (starts("<?")) return skip_past("?>");
    if (starts("<!DOCTYPE")) return skip_past(">");
    if (starts("</")) return end_tag();
    if (text_[at_] == '<') return start_tag();
    character();
  }
  void character() {
    const auto byte = static_cast<unsigned char>(text_[at_]);
    if (byte < 0x20 && byte != '\n' && byte != '\t') return fail("a control character");
    if (byte == '&') {
      const auto end = text_.find(';', at_);
      if (end == std::string::npos || end - at_ < 3 || end - at_ > 7) return fail("a bare &");
      for (auto i = at_ + 1; i < end; ++i) {
        if (!std::isalnum(static_cast<unsigned char>(text_[i])) && text_[i] != '#') return fail("a bare &");
      }
    }
    ++at_;
  }
  std::string name() {
    const auto start = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '-' || text_[at_] == ':'))
      ++at_;
    if (at_ == start) fail("a name is missing");
    return text_.substr(start, at_ - start);
  }
  void blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  void end_tag() {
    at_ += 2;
    const std::string tag = name();
    if (open_.empty() || open_.back() != tag) return fail("</" + tag + "> closes nothing");
    open_.pop_back();
    skip_past(">");
  }
  void attribute() {
    const std::string key = name();
    blanks();
    if (text_[at_] != '=') return html_ ? void() : fail("an attribute without a value");
    ++at_;
    blanks();
    const char quote = text_[at_];
    if (quote != '"' && quote != '\'') return fail("an attribute without quotes");
    const auto start = ++at_;
    while (at_ < text_.size() && text_[at_] != quote && result_.error.empty()) {
      if (text_[at_] == '<') return fail("< in an attribute");
      character();
    }
    const std::string value = text_.substr(start, at_ - start);
    if (key == "id") result_.ids.push_back(value);
    if (key == "href" || key == "xlink:href") result_.references.push_back(value);
    ++at_;
  }
  void start_tag() {
    ++at_;
    const std::string tag = name();
    result_.elements.push_back(tag);
    for (blanks(); at_ < text_.size() && text_[at_] != '>' && text_[at_] != '/' && result_.error.empty(); blanks())
      attribute();
    const bool empty = text_[at_] == '/';
    skip_past(">");
    if (empty || (html_ && (tag == "meta" || tag == "br" || tag == "input"))) return;
    if (html_ && tag == "style") return skip_past("</style>");
    open_.push_back(tag);
  }

  const std::string& text_;
  const bool html_;
  std::size_t at_ = 0;
  std::vector<std::string> open_;
  Markup result_;
};

}  // namespace

Markup parse_markup(const std::string& text, bool html) {
  return Parser(text, html).parse();
}

}  // namespace plumbline::testing
