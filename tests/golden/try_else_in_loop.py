def handler_ends_with_body(source):
    for item in source:
        try:
            result = fetch(item)
        except OSError:
            print(1)
        else:
            print(result)


def named_handler(source):
    for item in source:
        try:
            result = fetch(item)
        except OSError as error:
            log(error)
        else:
            print(result)


def with_finally(source):
    for item in source:
        try:
            result = fetch(item)
        except OSError:
            print(1)
        else:
            print(result)
        finally:
            log(item)


def retried_later(item):
    for attempt in range(3):
        try:
            result = fetch(item)
        except OSError as error:
            if attempt == 2:
                raise
            sleep(2 ** attempt)
        else:
            return result
        finally:
            log(item)


def one_continues(source):
    while source:
        try:
            result = fetch(source)
        except OSError:
            if not callable(source) or result > 3:
                raise
            continue
        print(result)


# if >=3.10
def handler_continues(source):
    for item in source:
        try:
            result = fetch(item)
        except OSError as error:
            log(error)
            continue
        print(result)


def retried(item):
    for attempt in range(3):
        try:
            result = fetch(item)
        except OSError as error:
            if attempt == 2:
                raise
            continue
        else:
            return result
        finally:
            log(item)


def loop_follows(flag, source):
    try:
        try:
            flag.set()
        except KeyError:
            while flag.more():
                print(1)
        else:
            for item in source:
                print(item)
    except ValueError:
        print(2)
    else:
        while flag.more():
            print(3)
    print(4)
# end
