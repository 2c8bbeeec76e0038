# ruff: noqa: F821 (the globals are Dynamo's)
def brk_print(x):
    tmp_2 = __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_enter()
    __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_exit(tmp_2)
    graph_out_0 = __compiled_fn_2(x)
    __temp_1 = __builtins_dict___1['print']
    __temp_2 = graph_out_0[0]
    del graph_out_0
    return __resume_at_40_3([], [], __temp_1('hi'), __temp_2)
