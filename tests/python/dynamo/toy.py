# ruff: noqa: F821 (the globals are Dynamo's)
def toy_example(a, b):
    tmp_2 = __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_enter()
    __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_exit(tmp_2)
    graph_out_0 = __compiled_fn_1(a, b)
    cond, x = graph_out_0[0], graph_out_0[1]
    del graph_out_0
    if cond:
        return __resume_at_102_2([], [], b, x)
    return __resume_at_112_3([], [], b, x)
