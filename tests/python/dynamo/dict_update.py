# ruff: noqa: F821 (the globals are Dynamo's)
def setdefault(x, d):
    tmp_2 = __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_enter()
    __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_exit(tmp_2)
    graph_out_0 = __compiled_fn_198(x)
    update = d.update
    entries = {'l': [graph_out_0[0]]}
    d.clear()
    update(entries)
    del graph_out_0
    return x
