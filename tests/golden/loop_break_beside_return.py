def returns_behind_a_with(numbers, run, open_log):
    for number in numbers:
        try:
            if run(number):
                break
        except Exception:
            pass
        if number:
            with open_log() as log:
                print(log)
            return False
    else:
        return False
    print(number)


def returns_of_two_kinds(names, check):
    for name in names:
        for other in name:
            if check(other):
                if name:
                    print(other)
                    return True
                return True
        print(name)
    print(names)
    return False
