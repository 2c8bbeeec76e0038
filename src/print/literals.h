#pragma once
// Spelling of constants: numbers, strings, bytes, docstrings. Everything here appends to a string
// and knows nothing of the tree.
#include <cstdint>
#include <string>
#include <string_view>

#include "pyc/code_object.h"
#include "support/unicode.h"

namespace depyf {

/// Sequences of quotes and other characters which a piece of text holds: what an f-string around it
/// must not be delimited by before Python 3.12 (PEP 701).
enum QuoteMask : std::uint8_t {
  kSingle = 1,
  kDouble = 2,
  kTripleSingle = 4,
  kTripleDouble = 8,
  kBackslash = 16,
  kNewline = 32,
  kImpossible = 64,
};

/// The four delimiters of a string literal, in the order in which they are preferred.
enum class Quote : std::uint8_t { Single, Double, TripleSingle, TripleDouble };
std::string_view quote_text(Quote quote);
/// The bits of QuoteMask that a delimiter itself adds to the text around it.
std::uint8_t quote_mask(Quote quote);
/// May text with this mask stand inside a literal with this delimiter without an escape?
bool quote_admits(Quote quote, std::uint8_t mask);

/// `digits` of an integer (Const::text of a big one: sign and hexadecimal digits). Decimal up to
/// 3,500 hexadecimal digits, as CPython refuses longer decimal literals since 3.10.7
/// (sys.set_int_max_str_digits); hexadecimal beyond.
void append_big_integer(std::string& out, std::string_view text);
/// A literal in base 2, 8, 10 or 16; `group`: an underscore before each group of so many digits, 0
/// for none.
void append_integer(std::string& out, std::uint64_t value, int base, int group);
/// The shortest text that reads back as the same double, in the layout of Python's repr; infinity
/// as 1e309; a NaN as a parenthesised difference that CPython folds to it. A negative value starts
/// with "-".
void append_float(std::string& out, double value);
/// A sum in parentheses, or a plain imaginary literal, which CPython of that version folds to
/// exactly this value (signs of zeros too).
void append_complex(std::string& out, double re, double im, PyVersion version);

/// A string literal in the quotes that need the fewest escapes.
void append_string(std::string& out, std::string_view text);
void append_bytes(std::string& out, std::string_view text);
/// The inside of a literal in the given quotes; `braces`: `{` and `}` are doubled (the literal part
/// of an f-string), `hex_braces`: they are spelt \x7b and \x7d (inside a format specification,
/// which knows no doubled braces).
enum class Braces : std::uint8_t { Plain, Doubled, Hex };
/// `line` as it can stand in a comment of a file in UTF-8: control characters become spaces, and
/// what could reorder or hide text, or what no UTF-8 holds (lone surrogates), its escape.
std::string comment_text(std::string_view line);
void append_escaped(std::string& out, std::string_view text, Quote quote, Braces braces,
                    Lines lines = Lines::Escaped);
/// The same without any backslash, as an f-string's replacement field before 3.12 demands. Quotes
/// are chosen by the text alone; the result is kImpossible where none will do.
std::uint8_t plain_string_mask(std::string_view text, bool bytes);
void append_plain_string(std::string& out, std::string_view text, bool bytes);
/// The quotes sequences of a text as it stands (kBackslash where an escape would be needed).
std::uint8_t text_mask(std::string_view text);

/// Can `text` come out of the compiler of 3.13 and later, which strips docstrings?
bool is_clean_docstring(std::string_view text);
/// A docstring of one line that is no wider than `width`, or else its first line and ` ...`; the
/// result has no line break.
std::string shortened(std::string_view docstring, std::size_t width);

/// A docstring in triple quotes, its first line at the cursor. From 3.13 on the compiler strips the
/// common indentation, so the lines get the body's `indent`; before, they stand as they were. Falls
/// back to one line with escapes where that alone keeps the value.
void append_docstring(std::string& out, std::string_view text, std::uint32_t indent,
                      PyVersion version);

}  // namespace depyf
