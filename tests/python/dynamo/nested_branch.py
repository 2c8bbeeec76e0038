# ruff: noqa: F821 (the globals are Dynamo's)
def branch_nested(x, y):
    tmp_2 = __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_enter()
    __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_exit(tmp_2)
    graph_out_0 = __compiled_fn_85(x)
    cond = graph_out_0[0]
    del graph_out_0
    if not cond:
        return __resume_at_118_87([], [], x, y)
    else:
        return __resume_at_50_86([], [], x, y)
