# ruff: noqa: F821 (the globals are Dynamo's)
def with_nograd(x):
    tmp_2 = __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_enter()
    __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_exit(tmp_2)
    graph_out_0 = __compiled_fn_35(x)
    set_grad_enabled = __import_torch.set_grad_enabled
    graph_break = torch._dynamo.graph_break
    y = graph_out_0[0]
    del graph_out_0
    ___context_manager_0_36 = __import_torch.set_grad_enabled(False)
    ___context_manager_0_36.__enter__()
    try:
        result = graph_break()
    finally:
        ___context_manager_0_36.__exit__(None, None, None)
    return __resume_at_110_37([], [], set_grad_enabled, result, y)
