#pragma once
// What the three fuzz targets share: an input that is refused with depyf::Error is fine, everything
// else that stops the program is a finding.
#include <cstdint>
#include <span>

#include "bytecode/instr.h"
#include "pipeline/pipeline.h"
#include "pyc/pyc.h"
#include "support/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
