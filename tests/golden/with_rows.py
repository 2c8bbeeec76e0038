# A `with` on a row of its own is a statement of its own, unless its column is that of an item.
def nested(path):
    with open(path) as source:
        with open(path + '.out') as target:
            target.write(source.read())


def joined(path):
    with open(path) as source, open(path + '.out') as target:
        target.write(source.read())


def both(path, lock):
    with lock:
        with open(path) as source, open(path + '.out') as target:
            target.write(source.read())


def three(path, lock):
    with lock:
        with open(path) as source:
            with open(path + '.out') as target:
                target.write(source.read())


async def awaited(path, lock):
    async with lock:
        async with path:
            print(path)


# if >=3.8
def on_two_rows(path):
    with open(path) as source, \
            open(path + '.out') as target:
        target.write(source.read())


def aligned(path):
    with open(path) as source, \
         open(path + '.out') as target:
        target.write(source.read())


def further_left(path):
    with open(path) as source, \
        open(path + '.out') as target:
        target.write(source.read())


async def awaited_on_two_rows(path, lock):
    async with lock, \
            path:
        print(path)
# end
