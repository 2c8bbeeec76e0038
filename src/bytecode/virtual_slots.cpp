#include "bytecode/virtual_slots.h"
namespace depyf { void erase_virtual_slots(const Module&, InstrList&, const CodeObject&) {} }
