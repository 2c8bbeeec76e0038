def one_copy_for_both_arms(value, parents):
    try:
        if parents:
            kept = [value]
            return tuple(kept) if value else kept
        return value
    finally:
        parents.discard(value)
