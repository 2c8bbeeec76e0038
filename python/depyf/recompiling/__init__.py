"""The steps from a decompiled text to a code object that is proven; see `depyf.recompile`."""
