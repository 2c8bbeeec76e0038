"""Which tests one worker of pytest-xdist runs without interruption, and what is done when a worker
dies.
"""

# The tests of one file share what is slow to make, so that one worker of pytest-xdist runs them
# all. Files whose tests have nothing in common are shared out.
SHARED_OUT = {
    "test_compiling.py",
    "test_failures.py",
    "test_flow_run.py",
    "test_lift.py",
    "test_totality.py",
}
# Files of tests/report that need neither its dumps nor the browser; the others are one group.
ALONE = {"test_readme.py", "test_torchrun.py", "test_words.py"}


def group_of(nodeid):
    """What one worker runs without interruption."""
    path = nodeid.split("::")[0]
    folder, _, name = path.rpartition("/")
    if name in SHARED_OUT:
        return nodeid
    return folder if folder.endswith("report") and name not in ALONE else path


def scheduler(config, log):
    """A scheduler for `--dist loadscope`; None for the other ways of pytest-xdist."""
    from xdist.scheduler import LoadScopeScheduling

    if config.getvalue("dist") != "loadscope":
        return None

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return group_of(nodeid)

        def _assign_work_unit(self, node):
            # A worker that has died is known as dead later: remove_node() takes its tests back
            # then.
            try:
                super()._assign_work_unit(node)
            except OSError:
                pass

        def remove_node(self, node):
            """Takes a worker out; where it died, returns the test that it ran, which is not run
            again.
            """
            work = self.assigned_work.pop(node)
            if self.collection is None:
                self.registered_collections.pop(node, None)
            left = [
                (scope, test)
                for scope, tests in work.items()
                for test, done in tests.items()
                if not done
            ]
            for scope, test in left[1:]:
                self.workqueue.setdefault(scope, {})[test] = False
            for scope in reversed([scope for scope, _ in left[1:]]):
                self.workqueue.move_to_end(scope, last=False)
            for other in self.assigned_work:
                self._reschedule(other)
            return left[0][1] if left else None

        def _reschedule(self, node):
            # A replaced worker is known before it has found the tests.
            if node.shutting_down or node not in self.registered_collections:
                return
            # A worker runs a test once it knows the next one: one test alone would never begin.
            while self.workqueue and self._pending_of(self.assigned_work[node]) <= 2:
                self._assign_work_unit(node)
            if not self.workqueue:
                node.shutdown()

    return Scheduling(config, log)
