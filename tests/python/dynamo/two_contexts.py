# ruff: noqa: F821 (the globals are Dynamo's)
def two_contexts(x):
    try:
        try:
            result = __resume_at_2_1(x)
        finally:
            g(1)
    finally:
        g(2)
    return result
