def leaves_before_and_inside(self):
    if self.state == 'closed':
        return
    while not self.queue.empty():
        self.handle(self.queue.get())
        if self.state == 'closed':
            return
    print(1)


async def breaks_inside(self):
    if self.process is None:
        while self.thread.is_alive():
            await sleep(5)
            if self.process is not None:
                break
        else:
            return False
    return await wait(self.process)
