#pragma once
// The words of which names for the values of Dynamo's code are made.
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace depyf {

using Words = std::vector<std::string>;

constexpr std::size_t kLongestWord = 36;  // characters of a part of a name

/// A part of a name in lower case, without what no name has: `CausalLMOutput` is
/// causal_lm_output, `_modules` is modules. Cut to `longest` characters, between words where it
/// can be. Empty where nothing is left.
std::string plain_word(std::string_view text, std::size_t longest = kLongestWord);

/// Dictionaries in which a module of torch keeps what it has, and those of objects: a path leads
/// through them.
bool is_holder(std::string_view attribute);

/// Of `__import_torch_dot__dynamo_dot_utils`, dynamo_utils.
std::string module_word(std::string_view global);

/// What stands for a global that torch named by a number of its own, by the address of an object or
/// by a module's path. Empty for all others.
std::string global_word(std::string_view global);

/// The last `length` words, with the nearest one that has a number in front of them:
/// layers_0_q_proj_weight.
std::string name_of(const Words& words, std::size_t length);

/// Python's keywords, and `_`.
std::unordered_set<std::string> keywords();

/// Adds the names of Python's own functions and classes that could be those of values.
void add_builtins(std::unordered_set<std::string>& names);

}  // namespace depyf
