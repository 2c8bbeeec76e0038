#include "print/precedence.h"

#include <cmath>

namespace depyf {

Operator binary_operator(BinaryOp op) {
  switch (op) {
    case BinaryOp::Add:
      return {" + ", Prec::Arith};
    case BinaryOp::And:
      return {" & ", Prec::BitAnd};
    case BinaryOp::FloorDivide:
      return {" // ", Prec::Term};
    case BinaryOp::LShift:
      return {" << ", Prec::Shift};
    case BinaryOp::MatMult:
      return {" @ ", Prec::Term};
    case BinaryOp::Multiply:
      return {" * ", Prec::Term};
    case BinaryOp::Remainder:
      return {" % ", Prec::Term};
    case BinaryOp::Or:
      return {" | ", Prec::BitOr};
    case BinaryOp::Power:
      return {" ** ", Prec::Power};
    case BinaryOp::RShift:
      return {" >> ", Prec::Shift};
    case BinaryOp::Subtract:
      return {" - ", Prec::Arith};
    case BinaryOp::TrueDivide:
      return {" / ", Prec::Term};
    case BinaryOp::Xor:
      return {" ^ ", Prec::BitXor};
  }
  return {" ? ", Prec::Atom};
}

Operator unary_operator(UnaryOp op) {
  switch (op) {
    case UnaryOp::Invert:
      return {"~", Prec::Factor};
    case UnaryOp::Not:
      return {"not ", Prec::Not};
    case UnaryOp::Plus:
      return {"+", Prec::Factor};
    case UnaryOp::Minus:
      return {"-", Prec::Factor};
  }
  return {"?", Prec::Atom};
}

std::string_view compare_operator(CompareOp op) {
  switch (op) {
    case CompareOp::Lt:
      return " < ";
    case CompareOp::Le:
      return " <= ";
    case CompareOp::Eq:
      return " == ";
    case CompareOp::Ne:
      return " != ";
    case CompareOp::Gt:
      return " > ";
    case CompareOp::Ge:
      return " >= ";
    case CompareOp::Is:
      return " is ";
    case CompareOp::IsNot:
      return " is not ";
    case CompareOp::In:
      return " in ";
    case CompareOp::NotIn:
      return " not in ";
  }
  return " ? ";
}

Prec precedence(const Const& value) {
  switch (value.kind) {
    case ConstKind::Int:
      return (value.big ? value.text.starts_with('-') : value.integer < 0) ? Prec::Factor
                                                                           : Prec::Atom;
    case ConstKind::Float:
      return std::signbit(value.re) && !std::isnan(value.re) ? Prec::Factor : Prec::Atom;
    case ConstKind::Tuple:
      return value.items.empty() ? Prec::Atom : Prec::Lowest;
    case ConstKind::None:
    case ConstKind::True:
    case ConstKind::False:
    case ConstKind::Ellipsis:
    case ConstKind::StopIteration:
    case ConstKind::Complex:
    case ConstKind::Str:
    case ConstKind::Bytes:
    case ConstKind::List:
    case ConstKind::Set:
    case ConstKind::FrozenSet:
    case ConstKind::Dict:
    case ConstKind::Slice:
    case ConstKind::Code:
    case ConstKind::Object:
      return Prec::Atom;
  }
  return Prec::Atom;
}

Prec precedence(const Ast& ast, ExprId id) {
  const Expr& e = ast[id];
  switch (e.kind) {
    case ExprKind::Constant:
      return precedence((*ast.module)[ConstId(e.a)]);
    case ExprKind::Name:
    case ExprKind::List:
    case ExprKind::Set:
    case ExprKind::Dict:
    case ExprKind::ListComp:
    case ExprKind::SetComp:
    case ExprKind::DictComp:
    case ExprKind::GeneratorExp:
    case ExprKind::JoinedStr:
    case ExprKind::TemplateStr:
    case ExprKind::FormattedValue:
    case ExprKind::Interpolation:
      return Prec::Atom;
    case ExprKind::Attribute:
    case ExprKind::Subscript:
    case ExprKind::Call:
      return Prec::Primary;
    case ExprKind::Binary:
      return binary_operator(static_cast<BinaryOp>(e.op)).prec;
    case ExprKind::Unary:
      return unary_operator(static_cast<UnaryOp>(e.op)).prec;
    case ExprKind::BoolOp:
      return e.op == 0 ? Prec::And : Prec::Or;
    case ExprKind::Compare:
      return Prec::Compare;
    case ExprKind::IfExp:
    case ExprKind::Lambda:
      return Prec::Test;
    case ExprKind::Tuple:
      return e.kids.empty() ? Prec::Atom : Prec::Lowest;
    case ExprKind::NamedExpr:
    case ExprKind::Yield:
    case ExprKind::YieldFrom:
      return Prec::Lowest;
    case ExprKind::Await:
      return Prec::Await;
    // Parts that stand only where their parent puts them, and never take parentheses.
    case ExprKind::Slice:
    case ExprKind::Starred:
    case ExprKind::Keyword:
    case ExprKind::Comprehension:
      return Prec::Atom;
    case ExprKind::Raw:
      return e.op == 1 ? Prec::Lowest : Prec::Atom;
    // What rewrite/ should have replaced is printed as a call or a name.
    case ExprKind::FunctionValue:
    case ExprKind::ClassBuilder:
    case ExprKind::CellRef:
    case ExprKind::Intrinsic:
    case ExprKind::ImportModule:
    case ExprKind::ImportedName:
    case ExprKind::Super:
    case ExprKind::Common:
    case ExprKind::LocalsDict:
      return Prec::Atom;
    case ExprKind::MatchValue:
    case ExprKind::MatchSingleton:
    case ExprKind::MatchSequence:
    case ExprKind::MatchMapping:
    case ExprKind::MatchClass:
    case ExprKind::MatchStar:
    case ExprKind::MatchAs:
    case ExprKind::MatchOr:
      return Prec::Atom;
  }
  return Prec::Atom;
}

}  // namespace depyf
