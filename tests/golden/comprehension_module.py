# Comprehensions at module level and in a class body.
numbers = [n for n in range(10) if n % 2]
table = {n: str(n) for n in numbers}


class C:
    squares = [n * n for n in range(3)]
    names = {n for n in squares}
