# A conditional expression as the test of a while loop, and a break that does something in an endless loop inside one.
def sample(count, limit, step):
    done = 0
    if step:
        done = 1
    while done < count if count is not None else done < limit:
        if step():
            done = 0
            step.reset()
        else:
            for i in limit:
                done += 1
    print(done)


# if >=3.11
def highest(height, levels):
    while height > 0:
        while True:
            level = levels[height]
            if not level.active:
                height -= 1
                break
            height = discharge(height)
            if reached():
                height = relabel(True)
    print(height)
# end
