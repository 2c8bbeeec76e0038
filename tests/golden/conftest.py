def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write what the decompiler prints now: expected texts and the list of known failures")
