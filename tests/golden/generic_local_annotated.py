# python: >=3.12
# The annotation of a local variable is not evaluated, and up to 3.13 captures what it names.
def first[T](items: list[T]) -> T:
    # if <3.14
    if False:
        T
    # end
    y = items[0]
    return y
