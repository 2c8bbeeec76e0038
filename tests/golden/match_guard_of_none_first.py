# python: >=3.10
def captured(value):
    match value:
        case first if first is not None:
            use(first)
        case other:
            use(other, 1)


def another(value, default):
    match value:
        case first if default is None:
            return first
        case other:
            return other


match value():
    case first if first is None:
        use(first)
    case other if flag is not None:
        use(other)
    case last:
        use(last)
