def turned_where_a_loop_follows(queue, last, limit):
    while queue:
        try:
            queue.pop()
        finally:
            if queue.empty() or last is not None and limit > queue.limit:
                print(last)


def turned_within(queue, last, limit):
    while queue:
        try:
            queue.pop()
        finally:
            if queue.empty() or last is not None and (limit or not last):
                print(last)
