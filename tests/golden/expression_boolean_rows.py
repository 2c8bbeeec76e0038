# python: >=3.10,<=3.11
# A value that two operators jump on is tested once where both are of one row, else twice.
def f(t, c):
    return (
        (
            t is not None
            and any(t)
        )
        or c
    )


def g(t, c):
    return t is not None and any(t) or c


def h(self, o):
    return (
        isinstance(o, L)
        and (
            (
                self.c is None
                and o.c is None
            )
            or self.c and o.c
        )
    )


def i(s, n, a):
    return (
        (
            a == 0
            and g(s, n) is d
        )
        or a == 1 and g(s) is d
    )


def j(o, d):
    return (
        o in (1, x) and d
        or (
            o == 3
            and k
        )
        or d.z
    )


def k(a, b):
    x = (a or b) and c
    return not (a and b) or x


def too_long_for_one_row(order, request, parameters):
    return (
        (parameters.time_in_force_is_post_only or request.time_in_force_of_the_request == 'PO'
                or order)
        and parameters.post
    )


def inner_on_a_row_of_its_own(host, pattern):
    return (
        pattern[0] == '.'
        and (
            host.endswith(pattern)
            or host == pattern[1:]
        )
        or pattern == host
    )


def inner_on_the_row_of_the_first(stop_price, trigger, is_profit, kind):
    return (
        stop_price is not None or trigger is not None and not is_profit or kind == 'stopLoss'
                or kind == 'stopLossLimit'
    )


def last_operand_of_the_inner_one_on_a_row_of_its_own(a, c, d, e):
    return (
        (a
                or (c and d))
        and e
    )


def last_of_three_on_a_row_of_its_own(a, b, c, d, e):
    return (
        (a or b
                or ((c or a) and d))
        and e
    )


def inner_in_the_middle_on_a_row_of_its_own(a, b, c, d, e):
    return (
        a or b
                and (c or d) or e
    )
